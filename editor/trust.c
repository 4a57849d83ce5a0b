/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Functions are matched by GUID; among those of one name (static functions of several files) the k-th
 * by address matches the k-th, because the linker keeps their order.
 */

#include "editor/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "profiles/insn.h"

struct key {
	uint64_t guid;
	uint32_t function;
};

static int by_guid(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static struct key *keys_of(const struct block_map *map, struct arena *arena)
{
	struct key *keys = arena_array(arena, struct key, map->n_functions);

	for (uint32_t i = 0; keys && i < map->n_functions; i++)
		keys[i] = (struct key){ map->functions[i].guid, i };
	if (keys)
		qsort(keys, map->n_functions, sizeof(*keys), by_guid);
	return keys;
}

static bool has_same_blocks(const struct block_map *a, const struct block_function *f,
			    const struct block_map *b, const struct block_function *g)
{
	if (f->n_blocks != g->n_blocks)
		return false;
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct block *x = &a->blocks[f->first_block + i], *y = &b->blocks[g->first_block + i];

		if (x->id != y->id || x->size != y->size || x->address - f->address != y->address - g->address)
			return false;
	}
	return true;
}

enum likeness { DIFFERENT, SAME_CODE, SAME_BYTES };

/* Two instructions that differ in nothing but one relocated operand of at most four bytes? */
static bool is_same_instruction(const struct insn *a, const uint8_t *x, const struct insn *b, const uint8_t *y)
{
	unsigned first = 0, last = a->size;

	if (a->size != b->size || a->class != b->class || a->flags != b->flags || a->reads != b->reads ||
	    a->writes != b->writes)
		return false;
	while (first < last && x[first] == y[first])
		first++;
	while (last > first && x[last - 1] == y[last - 1])
		last--;
	return last - first <= 4;
}

static enum likeness code_compare(uint16_t machine, const uint8_t *x, uint64_t x_address, const uint8_t *y,
				  uint64_t y_address, uint32_t size)
{
	if (memcmp(x, y, size) == 0)
		return SAME_BYTES;
	for (uint32_t at = 0; at < size;) {
		struct insn a, b;

		if (!insn_decode(machine, x + at, size - at, x_address + at, &a) ||
		    !insn_decode(machine, y + at, size - at, y_address + at, &b) ||
		    !is_same_instruction(&a, x + at, &b, y + at))
			return DIFFERENT;
		at += a.size;
	}
	return SAME_CODE;
}

static enum likeness function_compare(const struct image *a, const struct block_map *a_map,
				      const struct block_function *f, const struct image *b,
				      const struct block_map *b_map, const struct block_function *g)
{
	enum likeness worst = SAME_BYTES;

	for (uint32_t i = 0; i < f->n_blocks && worst != DIFFERENT; i++) {
		const struct block *x = &a_map->blocks[f->first_block + i], *y = &b_map->blocks[g->first_block + i];
		const uint8_t *p, *q;

		if (!x->size)
			continue;
		p = image_code(a, x->address, x->size);
		q = image_code(b, y->address, y->size);
		if (!p || !q)
			return DIFFERENT;
		worst = MIN(worst, code_compare(image_machine(a), p, x->address, q, y->address, x->size));
	}
	return worst;
}

int trust_compare(const struct image *shipped, const struct block_map *shipped_map,
		  const struct image *again, const struct block_map *again_map,
		  struct trust_report *ret, struct fault *reterr)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct key *xs = arena ? keys_of(shipped_map, arena) : NULL;
	struct key *ys = arena ? keys_of(again_map, arena) : NULL;
	const char *first = NULL;
	size_t j = 0;

	if (!xs || !ys)
		return fault_errno(reterr, -ENOMEM, "comparing with the shipped text");
	*ret = (struct trust_report){ .n_functions = shipped_map->n_functions };
	for (size_t i = 0; i < shipped_map->n_functions; i++) {
		const struct block_function *f = &shipped_map->functions[xs[i].function], *g;

		while (j < again_map->n_functions && ys[j].guid < xs[i].guid)
			j++;
		g = j < again_map->n_functions && ys[j].guid == xs[i].guid ?
			    &again_map->functions[ys[j++].function] : NULL;
		enum likeness likeness = DIFFERENT;

		if (g && has_same_blocks(shipped_map, f, again_map, g)) {
			likeness = function_compare(shipped, shipped_map, f, again, again_map, g);
			ret->n_same_blocks++;
			ret->n_same_code += likeness >= SAME_CODE;
			ret->n_same_bytes += likeness == SAME_BYTES;
		}
		if (likeness == DIFFERENT && !first)
			first = f->name ? f->name : "a function without a name";
	}
	if (ret->n_same_code == ret->n_functions)
		return 0;
	return fault_set(reterr, 1, "%zu of %zu functions do not regenerate, the first is %s",
			 ret->n_functions - ret->n_same_code, ret->n_functions, first);
}
