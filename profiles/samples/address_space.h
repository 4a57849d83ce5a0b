/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * address_space.h - which file was mapped where, in each process, at one point of a recording
 *
 * Replays what perf records of mmap, fork and exec in the order of time. A fork shares the
 * parent's mappings until one side changes them. Nothing here trusts a number: mappings may
 * overlap (the newer one wins) and processes may appear from nowhere.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

/* Of all processes together; a real machine has thousands. */
#define ADDRESS_SPACE_MAX_MAPPINGS (1u << 22)

struct address_mapping {
	uint64_t start, end; /* addresses, end exclusive */
	uint64_t offset;     /* in the file, of start */
	uint32_t file;	     /* the caller's number for it */
};

struct address_spaces;

struct address_spaces *address_spaces_new(void);
void address_spaces_free(struct address_spaces *spaces); /* accepts NULL */
DEFINE_CLEANUP(struct address_spaces *, address_spaces_free);

/** address_spaces_map() - @mapping (start < end) is now in @pid; 0, -ENOMEM, -E2BIG: too many */
int address_spaces_map(struct address_spaces *spaces, uint32_t pid, const struct address_mapping *mapping);
/** address_spaces_fork() - @child now has what @parent has; 0 or -ENOMEM */
int address_spaces_fork(struct address_spaces *spaces, uint32_t child, uint32_t parent);
/** address_spaces_exec() - @pid has nothing any more; 0 or -ENOMEM */
int address_spaces_exec(struct address_spaces *spaces, uint32_t pid);
/**
 * address_spaces_find() - what is at @address of @pid; NULL: nothing. Valid until the next change.
 */
const struct address_mapping *address_spaces_find(const struct address_spaces *spaces, uint32_t pid,
						  uint64_t address);
