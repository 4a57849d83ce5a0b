/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/heat.h"

#include <stdlib.h>

struct warm_function {
	uint64_t guid;
	double bytes;  /* executed */
	uint64_t size; /* of its code, in bytes */
};

struct heat {
	size_t n;
	struct warm_function functions[]; /* the hot ones, by GUID */
};

double heat_executions(const struct block_map *map, const struct block *block, const struct profile *profile)
{
	double most = 0;

	for (uint32_t i = 0; i < block->n_probes; i++) {
		const struct block_probe *probe = &map->probes[block->first_probe + i];
		const struct profile_function *f = profile_find(profile, probe->guid);

		if (f && probe->index && probe->index <= f->n_counts)
			most = MAX(most, (double)f->counts[probe->index - 1].executions);
	}
	return most;
}

static double function_bytes(const struct block_map *map, const struct block_function *f,
			     const struct profile *profile)
{
	double bytes = 0;

	for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++)
		bytes += heat_executions(map, &map->blocks[b], profile) * map->blocks[b].size;
	return bytes;
}

static int hottest_first(const void *a, const void *b)
{
	const struct warm_function *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->guid > y->guid) - (x->guid < y->guid);
}

/* Most executed for what compiling it anew costs. */
static int densest_first(const void *a, const void *b)
{
	const struct warm_function *x = a, *y = b;
	double i = x->bytes * (double)y->size, j = y->bytes * (double)x->size;

	if (i != j)
		return i > j ? -1 : 1;
	return (x->guid > y->guid) - (x->guid < y->guid);
}

static int by_guid(const void *a, const void *b)
{
	const struct warm_function *x = a, *y = b;

	return (x->guid > y->guid) - (x->guid < y->guid);
}

static uint64_t function_size(const struct block_map *map, const struct block_function *f)
{
	uint64_t size = 0;

	for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++)
		size += map->blocks[b].size;
	return size;
}

/* Of functions[heat->n] to functions[@n - 1] what makes most of @room, in bytes of code. */
static void room_fill(struct heat *heat, size_t n, uint64_t room)
{
	qsort(heat->functions + heat->n, n - heat->n, sizeof(heat->functions[0]), densest_first);
	for (size_t i = heat->n; i < n; i++) {
		if (heat->functions[i].size > room)
			continue;
		room -= heat->functions[i].size;
		heat->functions[heat->n++] = heat->functions[i];
	}
}

struct heat *heat_new(const struct block_map *shipped, const struct profile *profile)
{
	struct heat *heat = calloc(1, sizeof(*heat) + shipped->n_functions * sizeof(heat->functions[0]));
	double total = 0, sum = 0;
	uint64_t text = 0, size = 0;
	size_t n = 0;

	if (!heat)
		return NULL;
	for (size_t i = 0; i < shipped->n_functions; i++) {
		const struct block_function *f = &shipped->functions[i];
		double bytes = function_bytes(shipped, f, profile);

		if (bytes > 0)
			heat->functions[n++] =
				(struct warm_function){ f->guid, bytes, function_size(shipped, f) };
		total += bytes;
		text += function_size(shipped, f);
	}
	qsort(heat->functions, n, sizeof(heat->functions[0]), hottest_first);
	for (; heat->n < n && sum < total * HEAT_SHARE; heat->n++) {
		sum += heat->functions[heat->n].bytes;
		size += heat->functions[heat->n].size;
	}
	room_fill(heat, n, text / HEAT_TEXT_PART - MIN(size, text / HEAT_TEXT_PART));
	qsort(heat->functions, heat->n, sizeof(heat->functions[0]), by_guid);
	return heat;
}

void heat_free(struct heat *heat)
{
	free(heat);
}

bool heat_has(const struct heat *heat, uint64_t guid)
{
	struct warm_function key = { .guid = guid };

	return guid && bsearch(&key, heat->functions, heat->n, sizeof(key), by_guid);
}

void heat_count(struct block_map *map, const struct profile *profile)
{
	for (size_t i = 0; i < map->n_functions; i++) {
		const struct block_function *f = &map->functions[i];

		for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks && !f->has_counts; b++)
			map->blocks[b].count = heat_executions(map, &map->blocks[b], profile);
	}
}
