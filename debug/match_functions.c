/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Functions of a generation and those of the shipped file. The probes of its entry say what a function is, its name
 * does not: static functions of one name are several, and the editor gives some a name of their own. Only of a function
 * that was kept, the name and the shape say more, because objects that were compiled apart number such alike.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "debug/align.h"
#include "debug/match_private.h"

#define MOST_PROBES 64u /* of one block that are looked at */
#define MOST_BLOCKS 64u /* of one function */

/* The shipped file's functions, sorted. */
struct order {
	uint32_t *by_name, *by_guid; /* owned */
};

static void order_done(struct order *order)
{
	free(order->by_name);
	free(order->by_guid);
}

static const char *name_of(const struct block_map *map, uint32_t function)
{
	return map->functions[function].name ?: "";
}

static int name_compare(const void *a, const void *b, void *context)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(name_of(context, x), name_of(context, y));

	return order ? order : (x > y) - (x < y);
}

static int guid_compare(const void *a, const void *b, void *context)
{
	const struct block_map *map = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t p = map->functions[x].guid, q = map->functions[y].guid;

	return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

static uint32_t *sorted(const struct block_map *map, int (*compare)(const void *, const void *, void *))
{
	uint32_t *ret = calloc(map->n_functions + 1, sizeof(*ret));

	for (size_t i = 0; ret && i < map->n_functions; i++)
		ret[i] = (uint32_t)i;
	if (ret)
		qsort_r(ret, map->n_functions, sizeof(*ret), compare, (void *)map);
	return ret;
}

static bool is_same_block(const struct block_map *a, const struct block *x, const struct block_map *b,
			  const struct block *y)
{
	if (x->id != y->id || x->size != y->size || x->n_calls != y->n_calls || x->n_probes != y->n_probes)
		return false;
	for (uint32_t i = 0; i < x->n_probes; i++)
		if (a->probes[x->first_probe + i].index != b->probes[y->first_probe + i].index)
			return false;
	return memcmp(&a->calls[x->first_call], &b->calls[y->first_call], x->n_calls * sizeof(*a->calls)) ==
	       0;
}

/* The same instructions, but for the addresses in them. No memory: no. */
static bool is_same_code(const struct match *match, const struct block *x, const struct block *y)
{
	_clean_(code_done) struct code a = { 0 }, b = { 0 };

	if (code_add(&a, match->generation, x->address, x->size, 0) < 0 ||
	    code_add(&b, match->shipped, y->address, y->size, 0) < 0 || a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++) {
		const struct insn *p = &a.insns[i].insn, *q = &b.insns[i].insn;

		if (p->size != q->size || p->class != q->class || p->flow != q->flow ||
		    p->flags != q->flags || p->reads != q->reads || p->writes != q->writes ||
		    p->width != q->width)
			return false;
	}
	return true;
}

static bool is_same_shape(const struct match *match, uint32_t function, uint32_t shipped)
{
	const struct block_function *f = &match->from->functions[function],
				    *g = &match->to->functions[shipped];

	if (f->n_blocks != g->n_blocks)
		return false;
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct block *x = &match->from->blocks[f->first_block + i];
		const struct block *y = &match->to->blocks[g->first_block + i];

		if (x->address - f->address != y->address - g->address ||
		    !is_same_block(match->from, x, match->to, y) || !is_same_code(match, x, y))
			return false;
	}
	return true;
}

static uint32_t find_by_guid(const struct match *match, const struct order *order, uint64_t guid)
{
	const struct block_function *functions = match->to->functions;
	size_t n = match->to->n_functions;
	size_t at = LOWER_BOUND(0, n, i, functions[order->by_guid[i]].guid < guid);

	return at < n && functions[order->by_guid[at]].guid == guid ? order->by_guid[at] : BLOCK_NONE;
}

/* Are they one name, but for what compilers and linkers append ("step", "step.m4", "step.llvm.77")? */
static bool is_same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return n && n == strcspn(b, ".") && memcmp(a, b, n) == 0;
}

/* The first block with probes: the entry, unless that only saves registers (of functions with any number of arguments). */
static const struct block *first_with_probes(const struct block_map *map, const struct block_function *f)
{
	for (uint32_t i = 0; i < MIN(f->n_blocks, MOST_BLOCKS); i++)
		if (map->blocks[f->first_block + i].n_probes)
			return &map->blocks[f->first_block + i];
	return NULL;
}

/*
 * The function that the probes of the entry name. Where a callee was copied into it, its own are among them: of the function
 * of that name, else the first says what it is.
 */
static uint32_t find_by_entry(const struct match *match, const struct order *order,
			      const struct block_function *f)
{
	const struct block *entry = first_with_probes(match->from, f);
	uint32_t first = BLOCK_NONE;

	for (uint32_t i = 0; entry && i < MIN(entry->n_probes, MOST_PROBES); i++) {
		uint32_t found = find_by_guid(match, order, match->from->probes[entry->first_probe + i].guid);

		if (found != BLOCK_NONE && is_same_name(name_of(match->to, found), f->name ?: ""))
			return found;
		if (i == 0)
			first = found;
	}
	return first;
}

static void function_find(struct match *match, const struct order *order, uint32_t function)
{
	const struct block_function *f = &match->from->functions[function];
	size_t n = match->to->n_functions, at;
	uint32_t *ret = &match->functions[function];

	*ret = BLOCK_NONE;
	at = LOWER_BOUND(0, n, i, strcmp(name_of(match->to, order->by_name[i]), f->name ?: "") < 0);
	for (size_t i = at; f->name && i < n && strcmp(name_of(match->to, order->by_name[i]), f->name) == 0;
	     i++)
		if (is_same_shape(match, function, order->by_name[i])) {
			*ret = order->by_name[i];
			match->kept[function] = true;
			return;
		}
	*ret = find_by_entry(match, order, f);
	if (*ret == BLOCK_NONE)
		*ret = find_by_guid(match, order, f->guid);
	if (*ret == BLOCK_NONE && f->name && at < n &&
	    strcmp(name_of(match->to, order->by_name[at]), f->name) == 0)
		*ret = order->by_name[at];
}

int match_functions_find(struct match *match)
{
	_clean_(order_done) struct order order = { .by_name = sorted(match->to, name_compare),
						   .by_guid = sorted(match->to, guid_compare) };

	if (!order.by_name || !order.by_guid)
		return -ENOMEM;
	for (size_t i = 0; i < match->from->n_functions; i++)
		function_find(match, &order, (uint32_t)i);
	return 0;
}
