/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * resolver.h - from the inode that the sampler saw to path, build ID, size and time
 *
 * Once per module, at the moment it is announced: through /proc/PID/map_files while the process lives
 * (this reaches deleted files and other mount namespaces), else through the path that the kernel side
 * walked. A file is believed only when inode number and generation agree; device numbers are not
 * compared (btrfs and overlayfs show others to user space). The descriptor is closed at once: kept
 * open it would hold a deleted file's blocks and make its file system unmountable.
 */

#include <stdbool.h>
#include <stdint.h>

#include "monitor/catalog.h"
#include "monitor/sampler.h"

struct resolver;

/** resolver_new() - @root: "" on a real system, else prefixed to every path; NULL: out of memory */
struct resolver *resolver_new(const char *root, struct catalog *catalog);
void resolver_free(struct resolver *resolver); /* accepts NULL */
DEFINE_CLEANUP(struct resolver *, resolver_free);

/**
 * resolver_announce() - find the file of a MODULE event
 * @size: bytes of the event, checked
 * Return: its module; CATALOG_NONE when the file cannot be reached (any more), or out of memory.
 */
uint32_t resolver_announce(struct resolver *resolver, const struct sampler_module_event *event,
			   size_t size);
/** resolver_find() - the module announced for @inode before, or CATALOG_NONE */
uint32_t resolver_find(const struct resolver *resolver, const struct sampler_inode *inode);

/** resolver_path() - the path of a MODULE event, in @ret of PATH_MAX bytes; false: none */
bool resolver_path(const struct sampler_module_event *event, size_t size, char *ret);

/** resolver_inode_of() - inode number and generation of the file at @path; -errno */
int resolver_inode_of(const char *path, struct sampler_inode *ret);

/** resolver_is_stale() - was this very inode rewritten in place since it was resolved? One lstat(2). */
bool resolver_is_stale(const struct resolver *resolver, const struct sampler_inode *inode,
		       uint32_t module);
