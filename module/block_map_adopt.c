/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	1. sort the functions of @from that have counts or probes by name
 *	2. every function of @map without probes finds its twin there, every block the twin's block of its ID
 *	3. descriptions of IR functions that are new come along
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/search.h"
#include "module/block_map_private.h"

struct adoption {
	struct block_map *map;
	const struct block_map *from;
	struct arena *arena;
	const struct block_function **twins; /* of @from, sorted by name */
	size_t n_twins;
	struct block_probe *probes; /* the new array */
	size_t n_probes, capacity;
};

/* Of one name those with counts come first: they were generated again. */
static int by_name(const void *a, const void *b)
{
	const struct block_function *x = *(const struct block_function *const *)a;
	const struct block_function *y = *(const struct block_function *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : y->has_counts - x->has_counts;
}

static bool has_probes(const struct block_map *map, const struct block_function *function)
{
	for (uint32_t i = 0; i < function->n_blocks; i++)
		if (map->blocks[function->first_block + i].n_probes)
			return true;
	return false;
}

/* What never ran by its counts, since all its calls were copied, has none; it is known by its name if no other has it. */
static const struct block_function *twin_find(const struct adoption *a, const struct block_function *function)
{
	const struct block_function **found;
	size_t at, end;

	if (!function->name || has_probes(a->map, function))
		return NULL;
	at = LOWER_BOUND(0, a->n_twins, middle, strcmp(a->twins[middle]->name, function->name) < 0);
	end = LOWER_BOUND(at, a->n_twins, middle, strcmp(a->twins[middle]->name, function->name) <= 0);
	found = &a->twins[at];
	return end > at && ((*found)->has_counts || end == at + 1) ? *found : NULL;
}

static const struct block *block_of_id(const struct block_map *map, const struct block_function *f,
				       uint32_t id, uint32_t guess)
{
	/* Orders differ little or much, but IDs are mostly where they were, or a neighbour's. */
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct block *block = &map->blocks[f->first_block + (guess + i) % f->n_blocks];

		if (block->id == id)
			return block;
	}
	return NULL;
}

static int probes_add(struct adoption *a, struct block *block, const struct block_probe *probes, uint32_t n)
{
	if (a->n_probes + n > a->capacity) {
		size_t capacity = MAX(a->capacity * 2, a->n_probes + n);
		struct block_probe *grown = reallocarray(a->probes, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		a->probes = grown;
		a->capacity = capacity;
	}
	if (n)
		memcpy(a->probes + a->n_probes, probes, n * sizeof(*probes));
	block->first_probe = (uint32_t)a->n_probes;
	block->n_probes = n;
	a->n_probes += n;
	return 0;
}

/* Step 2, for one function; what has no twin keeps its own probes. */
static int function_adopt(struct adoption *a, struct block_function *function)
{
	const struct block_function *twin = twin_find(a, function);
	int r = 0;

	function->has_counts = twin && twin->has_counts;
	if (twin) /* by its name it may look like another: probes are those of its source's name */
		function->guid = twin->guid;
	for (uint32_t i = 0; i < function->n_blocks && r == 0; i++) {
		struct block *block = &a->map->blocks[function->first_block + i];
		const struct block *source = twin ? block_of_id(a->from, twin, block->id, i) : NULL;

		block->count = source ? source->count : 0;
		if (source)
			r = probes_add(a, block, a->from->probes + source->first_probe, source->n_probes);
		else
			r = probes_add(a, block, a->map->probes + block->first_probe, block->n_probes);
	}
	return r;
}

/* Step 3. */
static int descriptions_adopt(struct block_map *map, const struct block_map *from)
{
	size_t n = map->n_ir_functions + from->n_ir_functions, at = map->n_ir_functions;
	struct block_ir_function *grown = reallocarray(map->ir_functions, MAX(n, 1u), sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	map->ir_functions = grown;
	for (size_t i = 0; i < from->n_ir_functions; i++) {
		struct block_ir_function description = from->ir_functions[i];

		if (block_map_ir_function(map, description.guid))
			continue;
		if (description.name) {
			description.name = block_map_intern(map, description.name, strlen(description.name));
			if (!description.name)
				return -ENOMEM;
		}
		grown[at++] = description;
	}
	map->n_ir_functions = at;
	block_map_sort_ir_functions(map);
	return 0;
}

int block_map_adopt_probes(struct block_map *map, const struct block_map *from)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct adoption a = { .map = map, .from = from, .arena = arena };
	int r = arena ? 0 : -ENOMEM;

	a.twins = arena ? arena_array(arena, const struct block_function *, from->n_functions) : NULL;
	if (!a.twins)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_functions; i++)
		if (from->functions[i].name &&
		    (from->functions[i].has_counts || has_probes(from, &from->functions[i])))
			a.twins[a.n_twins++] = &from->functions[i];
	qsort(a.twins, a.n_twins, sizeof(*a.twins), by_name);
	for (size_t i = 0; i < map->n_functions && r == 0; i++)
		r = function_adopt(&a, &map->functions[i]);
	if (r < 0) {
		free(a.probes);
		return r;
	}
	free(map->probes);
	map->probes = a.probes;
	map->n_probes = a.n_probes;
	return descriptions_adopt(map, from);
}
