/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * calls.h - which function of a file calls which, and where: calls, and jumps to where a function begins
 */

#include <stddef.h>
#include <stdint.h>

#include "debug/callees.h"

struct call_place {
	uint32_t caller;  /* in the map's functions[] */
	uint32_t callee;  /* as callees.h numbers them; BLOCK_NONE: called through a pointer */
	uint64_t address; /* of the instruction */
};

struct calls {
	struct call_place *list; /* owned; sorted by callee, caller, address */
	size_t n, capacity;
};

/** calls_read() - of @callees' file. 0 or -ENOMEM. O(code) */
int calls_read(const struct callees *callees, struct calls *ret);
void calls_done(struct calls *calls);

/** calls_find() - of the calls of @callee by @caller the one nearest to address @near, or NULL */
const struct call_place *calls_find(const struct calls *calls, uint32_t caller, uint32_t callee,
				    uint64_t near);
/** calls_last() - of the calls of @callee by @caller in [@start, @end) the last one, or NULL */
const struct call_place *calls_last(const struct calls *calls, uint32_t caller, uint32_t callee,
				    uint64_t start, uint64_t end);

#define CALLS_DEPTH 16u

/**
 * calls_way() - a shortest chain of calls from function @from to callee @to, which may be one: the first is made by @from,
 * each other one by what the one before calls, and the last calls @to
 * @near: of several calls by @from, the nearest to that address
 * Return: how many; 0: no chain of CALLS_DEPTH or fewer is known. Looks at some hundred functions at most.
 */
unsigned calls_way(const struct calls *calls, uint32_t from, uint32_t to, uint64_t near,
		   const struct call_place *ret[CALLS_DEPTH]);

/** calls_of() - the first call of @callee in list[], and in @retend behind the last */
size_t calls_of(const struct calls *calls, uint32_t callee, size_t *retend);
