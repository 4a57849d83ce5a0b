/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writing a block map: every column grows by itself, in three walks (functions; IR functions; blocks
 * with their edges, calls and probes), then the head and the columns are put one behind the other.
 * Exact and deterministic: reading gives the same map, except what block_map.h says is not encoded.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "module/block_map_columns.h"
#include "module/block_map_private.h"
#include "module/md5.h"

struct encoder {
	const struct block_map *map;
	struct buffer columns[N_COLUMNS];
	uint32_t *dictionary; /* owned; by value, to look up */
	uint32_t *places;     /* owned; dictionary[i] is entry places[i] */
	size_t n_dictionary;
};

static void encoder_done(struct encoder *e)
{
	for (unsigned i = 0; i < N_COLUMNS; i++)
		buffer_done(&e->columns[i]);
	free(e->dictionary);
	free(e->places);
}

static void name_encode(struct encoder *e, const char *name)
{
	buffer_bytes(&e->columns[COLUMN_NAMES], name ? name : "", name ? strlen(name) + 1 : 1);
}

struct frequency {
	uint32_t value, count;
};

static int value_compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int frequency_compare(const void *a, const void *b)
{
	const struct frequency *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* Is the probability of edge @i of @block what the earlier ones leave? */
static bool edge_is_rest(const struct block_map *map, const struct block *block, uint32_t i)
{
	uint64_t sum = 0;

	if (i != block->n_edges - 1)
		return false;
	for (uint32_t j = 0; j <= i; j++)
		sum += map->edges[block->first_edge + j].probability;
	return sum == PROBABILITY_ONE;
}

/* Sort the probabilities that must be written; give each distinct one a place by frequency. */
static int dictionary_make(struct encoder *e)
{
	const struct block_map *map = e->map;
	_clean_(freep) struct frequency *by_count = NULL;
	size_t n = 0, n_distinct = 0;

	e->dictionary = calloc(MAX(map->n_edges, 1u), sizeof(*e->dictionary));
	e->places = calloc(MAX(map->n_edges, 1u), sizeof(*e->places));
	by_count = calloc(MAX(map->n_edges, 1u), sizeof(*by_count));
	if (!e->dictionary || !e->places || !by_count)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_blocks; i++)
		for (uint32_t j = 0; j < map->blocks[i].n_edges; j++)
			if (!edge_is_rest(map, &map->blocks[i], j))
				e->dictionary[n++] = map->edges[map->blocks[i].first_edge + j].probability;
	qsort(e->dictionary, n, sizeof(*e->dictionary), value_compare);
	for (size_t i = 0; i < n; i++) {
		if (!n_distinct || by_count[n_distinct - 1].value != e->dictionary[i])
			by_count[n_distinct++].value = e->dictionary[i];
		by_count[n_distinct - 1].count++;
	}
	for (size_t i = 0; i < n_distinct; i++)
		e->dictionary[i] = by_count[i].value;
	qsort(by_count, n_distinct, sizeof(*by_count), frequency_compare);
	e->n_dictionary = n_distinct;
	for (size_t i = 0; i < n_distinct; i++) {
		const uint32_t *p = bsearch(&by_count[i].value, e->dictionary, n_distinct,
					    sizeof(*e->dictionary), value_compare);

		e->places[p - e->dictionary] = (uint32_t)i;
		buffer_uleb(&e->columns[COLUMN_DICTIONARY], by_count[i].value);
	}
	return 0;
}

static void edges_encode(struct encoder *e, const struct block_function *f, const struct block *block)
{
	int64_t place = block - e->map->blocks - f->first_block;

	for (uint32_t i = 0; i < block->n_edges; i++) {
		const struct block_edge *edge = &e->map->edges[block->first_edge + i];
		const uint32_t *p;

		buffer_sleb(&e->columns[COLUMN_TARGETS],
			    (int64_t)edge->target - f->first_block - (place + 1));
		if (edge_is_rest(e->map, block, i)) {
			buffer_uleb(&e->columns[COLUMN_PROBABILITIES], 0);
			continue;
		}
		p = bsearch(&edge->probability, e->dictionary, e->n_dictionary, sizeof(*p), value_compare);
		buffer_uleb(&e->columns[COLUMN_PROBABILITIES], e->places[p - e->dictionary] + 1ull);
	}
}

static void probes_encode(struct encoder *e, const struct block_function *f, const struct block *block,
			  int64_t *index)
{
	struct buffer *guids = &e->columns[COLUMN_PROBE_GUIDS];

	for (uint32_t i = 0; i < block->n_probes; i++) {
		const struct block_probe *p = &e->map->probes[block->first_probe + i];
		const struct block_ir_function *ir =
			p->guid == f->guid ? NULL : block_map_ir_function(e->map, p->guid);

		buffer_sleb(&e->columns[COLUMN_INDICES], (int64_t)p->index - (*index + 1));
		*index = p->index;
		if (ir)
			buffer_uleb(guids, (uint64_t)(ir - e->map->ir_functions) + PROBE_OF_IR_FUNCTION);
		else
			buffer_uleb(guids, p->guid == f->guid ? PROBE_OF_FUNCTION : PROBE_GUID_GIVEN);
		if (!ir && p->guid != f->guid)
			buffer_u64(&e->columns[COLUMN_GUIDS], p->guid);
	}
}

static void block_encode(struct encoder *e, const struct block_function *f, const struct block *block,
			 uint64_t end)
{
	uint32_t call = 0;

	buffer_sleb(&e->columns[COLUMN_GAPS], (int64_t)(block->address - end));
	buffer_uleb(&e->columns[COLUMN_SIZES], block->size);
	buffer_u8(&e->columns[COLUMN_FLAGS], (uint8_t)block->flags);
	buffer_uleb(&e->columns[COLUMN_N_EDGES], block->n_edges);
	buffer_uleb(&e->columns[COLUMN_N_CALLS], block->n_calls);
	buffer_uleb(&e->columns[COLUMN_N_PROBES], block->n_probes);
	for (uint32_t i = 0; i < block->n_calls; i++) {
		uint32_t offset = e->map->calls[block->first_call + i];

		buffer_uleb(&e->columns[COLUMN_CALLS], offset - call);
		call = offset;
	}
	edges_encode(e, f, block);
}

static void blocks_encode(struct encoder *e, const struct block_function *f)
{
	uint64_t end = f->address;
	int64_t id = -1, index = 0;

	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct block *block = &e->map->blocks[f->first_block + i];

		buffer_sleb(&e->columns[COLUMN_IDS], (int64_t)block->id - (id + 1));
		id = block->id;
		block_encode(e, f, block, end);
		probes_encode(e, f, block, &index);
		end = block->address + block->size;
	}
}

static void guid_encode(struct encoder *e, uint64_t guid, const char *name)
{
	bool given = guid != md5_guid(name ? name : "", name ? strlen(name) : 0);

	buffer_u8(&e->columns[COLUMN_GUID_KINDS], given ? GUID_GIVEN : GUID_OF_NAME);
	if (given)
		buffer_u64(&e->columns[COLUMN_GUIDS], guid);
}

static void function_encode(struct encoder *e, const struct block_function *f, uint64_t *end)
{
	const struct block *last = f->n_blocks ? &e->map->blocks[f->first_block + f->n_blocks - 1] : NULL;

	name_encode(e, f->name);
	guid_encode(e, f->guid, f->name);
	buffer_sleb(&e->columns[COLUMN_FUNCTIONS], (int64_t)(f->address - *end));
	buffer_uleb(&e->columns[COLUMN_FUNCTIONS], f->n_blocks);
	*end = last ? last->address + last->size : f->address;
}

static void hash_encode(struct encoder *e, const struct block_ir_function *ir)
{
	buffer_u32(&e->columns[COLUMN_HASH_LOW], (uint32_t)ir->cfg_hash);
	buffer_u32(&e->columns[COLUMN_HASH_HIGH], (uint32_t)(ir->cfg_hash >> 32));
}

/* Most IR functions are those of the functions, under the same name: a byte each. The rest follow. */
static int ir_functions_encode(struct encoder *e)
{
	const struct block_map *map = e->map;
	_clean_(freep) bool *done = calloc(MAX(map->n_ir_functions, 1u), sizeof(*done));

	if (!done)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_functions; i++) {
		const struct block_function *f = &map->functions[i];
		const struct block_ir_function *ir = block_map_ir_function(map, f->guid);
		bool own = ir && !done[ir - map->ir_functions] && ir->name && f->name &&
			   strcmp(ir->name, f->name) == 0;

		buffer_u8(&e->columns[COLUMN_IR], own);
		if (!own)
			continue;
		done[ir - map->ir_functions] = true;
		hash_encode(e, ir);
	}
	for (size_t i = 0; i < map->n_ir_functions; i++) {
		const struct block_ir_function *ir = &map->ir_functions[i];

		if (done[i])
			continue;
		name_encode(e, ir->name);
		guid_encode(e, ir->guid, ir->name);
		hash_encode(e, ir);
	}
	return 0;
}

static void head_encode(const struct block_map *map, struct buffer *ret)
{
	buffer_string(ret, (const char *)map->build_id.bytes, map->build_id.size);
	buffer_uleb(ret, map->n_functions);
	buffer_uleb(ret, map->n_ir_functions);
	buffer_uleb(ret, map->n_blocks);
	buffer_uleb(ret, map->n_edges);
	buffer_uleb(ret, map->n_calls);
	buffer_uleb(ret, map->n_probes);
	buffer_uleb(ret, map->n_unplaced);
}

int block_map_encode(const struct block_map *map, struct buffer *ret)
{
	_clean_(encoder_done) struct encoder e = { .map = map };
	uint64_t end = 0;

	if (dictionary_make(&e) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_functions; i++)
		function_encode(&e, &map->functions[i], &end);
	if (ir_functions_encode(&e) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_functions; i++)
		blocks_encode(&e, &map->functions[i]);
	head_encode(map, ret);
	for (unsigned i = 0; i < N_COLUMNS; i++) {
		ret->bad |= e.columns[i].bad;
		buffer_string(ret, (const char *)e.columns[i].data, e.columns[i].size);
	}
	return ret->bad ? -ENOMEM : 0;
}
