/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * kernel_names.h - functions of the running kernel and its modules, by the offsets that sample logs have (kernel_map.h)
 *
 * From ROOT/proc/kallsyms, for a module also ROOT/proc/modules. Offsets are from where the image or the module begins, so
 * they hold for every run of the same build, wherever it was loaded.
 */

#include "base/macro.h"
#include "module/build_id.h"

struct kernel_names;

/**
 * kernel_names_read() - of "[kernel]" or "[kernel module NAME]", as sample logs call them
 * @root: "" on a real system
 * Return: NULL: another build runs now, addresses are hidden (from all but root, as a rule), or out of memory
 */
struct kernel_names *kernel_names_read(const char *root, const char *label, const struct build_id *build_id);
void kernel_names_free(struct kernel_names *names); /* accepts NULL */
DEFINE_CLEANUP(struct kernel_names *, kernel_names_free);

/** kernel_name_at() - the function that holds @offset, and where it begins; borrowed; NULL: before the first. O(log n) */
const char *kernel_name_at(const struct kernel_names *names, uint64_t offset, uint64_t *retstart);
