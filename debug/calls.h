/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * calls.h - which function of a file calls which, and where: calls, and jumps to where a function begins
 */

#include <stddef.h>
#include <stdint.h>

#include "module/block_map.h"
#include "module/image.h"

struct call_place {
	uint32_t caller, callee; /* in the map's functions[]; BLOCK_NONE: called through a pointer */
	uint64_t address;	 /* of the instruction */
};

struct calls {
	struct call_place *list; /* owned; sorted by callee, caller, address */
	size_t n, capacity;
};

/** calls_read() - 0 or -ENOMEM. O(code) */
int calls_read(const struct image *image, const struct block_map *map, struct calls *ret);
void calls_done(struct calls *calls);

/** calls_find() - of the calls of @callee by @caller the one nearest to address @near, or NULL */
const struct call_place *calls_find(const struct calls *calls, uint32_t caller, uint32_t callee,
				    uint64_t near);
/** calls_of() - the first call of @callee in list[], and in @retend behind the last */
size_t calls_of(const struct calls *calls, uint32_t callee, size_t *retend);
