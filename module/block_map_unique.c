/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Functions that share a GUID get one each (block_map.h says when and why):
 *	1. sort the functions that carry probes by (GUID, name, place in the symbol table)
 *	2. in every run of one GUID and more than one function, number those of one name
 *	3. rewrite the function's GUID and that of its probes; describe the new IR function. The CFG
 *	   hash becomes unknown: the linker keeps one descriptor for all of them.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "module/block_map_private.h"
#include "module/md5.h"

uint64_t block_map_unique_guid(const char *name, unsigned ordinal)
{
	const uint64_t text[2] = { md5_guid(name, strlen(name)), ordinal };

	return ordinal == 0 ? text[0] : md5_guid(text, sizeof(text));
}

static const char *function_name(const struct block_function *f)
{
	return f->name ? f->name : "";
}

static int twin_compare(const void *a, const void *b)
{
	const struct block_function *x = *(struct block_function *const *)a;
	const struct block_function *y = *(struct block_function *const *)b;
	int c;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	c = strcmp(function_name(x), function_name(y));
	if (c)
		return c;
	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

static bool function_has_probes(const struct block_map *map, const struct block_function *f)
{
	for (uint32_t i = 0; i < f->n_blocks; i++)
		if (map->blocks[f->first_block + i].n_probes)
			return true;
	return false;
}

static void function_rename(struct block_map *map, struct block_function *f, uint64_t guid)
{
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct block *block = &map->blocks[f->first_block + i];

		for (uint32_t p = 0; p < block->n_probes; p++) {
			struct block_probe *probe = &map->probes[block->first_probe + p];

			if (probe->guid == f->guid)
				probe->guid = guid;
		}
	}
	f->guid = guid;
}

/* 2 and 3 for one run of @n twins; @rets: the descriptions of those that got a new GUID. */
static size_t twins_separate(struct block_map *map, struct block_function **twins, size_t n,
			     struct block_ir_function *rets)
{
	struct block_ir_function *shared =
		(struct block_ir_function *)block_map_ir_function(map, twins[0]->guid);
	uint64_t guid = twins[0]->guid;
	unsigned ordinal = 0;
	size_t n_new = 0;

	if (shared)
		shared->cfg_hash = 0;
	for (size_t i = 0; i < n; i++) {
		const char *name = function_name(twins[i]);
		uint64_t own;

		/* Renaming changes no names: the previous one still tells. */
		ordinal = i && strcmp(name, function_name(twins[i - 1])) == 0 ? ordinal + 1 : 0;
		own = block_map_unique_guid(name, ordinal);
		if (own == guid)
			continue;
		function_rename(map, twins[i], own);
		rets[n_new++] = (struct block_ir_function){ .guid = own, .name = twins[i]->name };
	}
	return n_new;
}

static int ir_functions_add(struct block_map *map, const struct block_ir_function *new, size_t n)
{
	struct block_ir_function *grown =
		realloc(map->ir_functions, MAX(map->n_ir_functions + n, 1u) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	map->ir_functions = grown;
	if (n)
		memcpy(grown + map->n_ir_functions, new, n * sizeof(*grown));
	map->n_ir_functions += n;
	block_map_sort_ir_functions(map);
	return 0;
}

int block_map_make_unique(struct block_map *map)
{
	_clean_(freep) struct block_function **twins = NULL;
	_clean_(freep) struct block_ir_function *new = NULL;
	size_t n = 0, n_new = 0;

	twins = calloc(MAX(map->n_functions, 1u), sizeof(struct block_function *));
	new = calloc(MAX(map->n_functions, 1u), sizeof(*new));
	if (!twins || !new)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_functions; i++)
		if (function_has_probes(map, &map->functions[i]))
			twins[n++] = &map->functions[i];
	qsort(twins, n, sizeof(struct block_function *), twin_compare);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && twins[end]->guid == twins[i]->guid; end++)
			;
		if (end - i > 1)
			n_new += twins_separate(map, twins + i, end - i, new + n_new);
	}
	return ir_functions_add(map, new, n_new);
}
