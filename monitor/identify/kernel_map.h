/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * kernel_map.h - which kernel image or module an address in the kernel belongs to, by build ID
 *
 * From ROOT/proc/kallsyms (_text, _etext), ROOT/proc/modules, ROOT/sys/kernel/notes and
 * ROOT/sys/module/NAME/notes/.note.gnu.build-id. Without CAP_SYSLOG (or with kptr_restrict) addresses
 * read as zero: then the map is empty and kernel samples are counted without a place.
 * Code that the kernel generates (BPF programs, trampolines) is in no image: one module holds its total.
 */

#include <stdbool.h>
#include <stdint.h>

#include "monitor/identify/catalog.h"

struct kernel_map;

/** kernel_map_new() - read the map; @root is "" on a real system; NULL: out of memory */
struct kernel_map *kernel_map_new(const char *root, struct catalog *catalog);
void kernel_map_free(struct kernel_map *map); /* accepts NULL */
DEFINE_CLEANUP(struct kernel_map *, kernel_map_free);

/** kernel_map_is_visible() - does the system show kernel addresses at all? */
bool kernel_map_is_visible(const struct kernel_map *map);
/** kernel_map_find() - module and offset of @address; false: the map is empty */
bool kernel_map_find(const struct kernel_map *map, uint64_t address, uint32_t *retmodule,
		     uint64_t *retoffset);
/** kernel_map_renumber() - the catalog's module @i is now @map[@i], for the first @n */
void kernel_map_renumber(struct kernel_map *map, const uint32_t *numbers, size_t n);
/** kernel_map_reload() - modules may have come and gone; 0 or -ENOMEM (then the old map stays) */
int kernel_map_reload(struct kernel_map *map);

/**
 * kernel_running_build() - the build ID of the kernel that runs, or with @module of one of its modules
 * @module: NULL: the kernel itself; then @retbase is untouched, else it is where the module was loaded
 * Return: false: there is no such module, it has no build ID, or its address is hidden.
 */
bool kernel_running_build(const char *root, const char *module, struct build_id *ret, uint64_t *retbase);
