/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reading a block map, which may come from anywhere: no count is believed beyond the bytes that are
 * there to fill it, every index is tested, and every column must end where its last number does.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "module/block_map_columns.h"
#include "module/block_map_private.h"
#include "module/md5.h"

struct decoder {
	struct block_map *map;
	struct reader columns[N_COLUMNS];
	uint32_t *dictionary; /* owned */
	size_t n_dictionary;
	size_t edges, calls, probes; /* filled so far */
};

static void decoder_done(struct decoder *d)
{
	free(d->dictionary);
	block_map_free(d->map);
}

static int damaged(const char *what, struct fault *reterr)
{
	return fault_set(reterr, -EBADMSG, "block map damaged: %s", what);
}

/* Each element takes at least one byte of the input, so no array outgrows it by more than a factor. */
static void *array_new(uint64_t n, size_t size, size_t limit)
{
	return n > limit || n > INT32_MAX ? NULL : calloc(MAX(n, 1u), size);
}

static int head_decode(struct decoder *d, struct reader *in, struct fault *reterr)
{
	struct block_map *map = d->map;
	size_t n_id, limit = reader_left(in);
	const char *id = reader_string(in, &n_id);

	if (!id || n_id > BUILD_ID_MAX_BYTES)
		return damaged("build ID", reterr);
	map->build_id.size = (uint8_t)n_id;
	memcpy(map->build_id.bytes, id, n_id);
	map->n_functions = reader_uleb(in);
	map->n_ir_functions = reader_uleb(in);
	map->n_blocks = reader_uleb(in);
	map->n_edges = reader_uleb(in);
	map->n_calls = reader_uleb(in);
	map->n_probes = reader_uleb(in);
	map->n_unplaced = reader_uleb(in);
	for (unsigned i = 0; i < N_COLUMNS; i++)
		d->columns[i] = reader_sub(in, reader_uleb(in));
	if (in->bad || reader_left(in))
		return damaged("its columns do not fill it", reterr);
	map->functions = array_new(map->n_functions, sizeof(*map->functions), limit);
	map->ir_functions = array_new(map->n_ir_functions, sizeof(*map->ir_functions), limit);
	map->blocks = array_new(map->n_blocks, sizeof(*map->blocks), limit);
	map->edges = array_new(map->n_edges, sizeof(*map->edges), limit);
	map->calls = array_new(map->n_calls, sizeof(*map->calls), limit);
	map->probes = array_new(map->n_probes, sizeof(*map->probes), limit);
	if (!map->functions || !map->ir_functions || !map->blocks || !map->edges || !map->calls ||
	    !map->probes)
		return damaged("impossible counts", reterr);
	return 0;
}

static int dictionary_decode(struct decoder *d, struct fault *reterr)
{
	struct reader *in = &d->columns[COLUMN_DICTIONARY];

	d->dictionary = calloc(reader_left(in) + 1, sizeof(*d->dictionary));
	if (!d->dictionary)
		return fault_errno(reterr, -ENOMEM, "block map");
	while (reader_left(in)) {
		uint64_t value = reader_uleb(in);

		if (in->bad || value > UINT32_MAX)
			return damaged("dictionary", reterr);
		d->dictionary[d->n_dictionary++] = (uint32_t)value;
	}
	return 0;
}

/* An empty name stands for none. */
static int name_decode(struct decoder *d, const char **ret, struct fault *reterr)
{
	struct reader *in = &d->columns[COLUMN_NAMES];
	const uint8_t *end = reader_left(in) ? memchr(in->at, 0, reader_left(in)) : NULL;
	size_t n;
	const char *s;

	if (!end)
		return damaged("names", reterr);
	n = (size_t)(end - in->at);
	s = reader_bytes(in, n + 1);
	*ret = NULL;
	if (n == 0)
		return 0;
	*ret = block_map_intern(d->map, s, n);
	return *ret ? 0 : fault_errno(reterr, -ENOMEM, "block map");
}

static int guid_decode(struct decoder *d, const char *name, uint64_t *ret, struct fault *reterr)
{
	unsigned kind = reader_u8(&d->columns[COLUMN_GUID_KINDS]);

	if (kind > GUID_GIVEN)
		return damaged("kind of GUID", reterr);
	*ret = kind == GUID_GIVEN ? reader_u64(&d->columns[COLUMN_GUIDS]) :
				    md5_guid(name ? name : "", name ? strlen(name) : 0);
	return 0;
}

/* Addresses of functions follow from their blocks; here only what the column says is kept. */
static int functions_decode(struct decoder *d, struct fault *reterr)
{
	struct block_map *map = d->map;
	uint64_t first_block = 0;

	for (size_t i = 0; i < map->n_functions; i++) {
		struct block_function *f = &map->functions[i];
		uint64_t n;
		int r = name_decode(d, &f->name, reterr);

		if (r == 0)
			r = guid_decode(d, f->name, &f->guid, reterr);
		if (r < 0)
			return r;
		f->address = (uint64_t)reader_sleb(&d->columns[COLUMN_FUNCTIONS]);
		n = reader_uleb(&d->columns[COLUMN_FUNCTIONS]);
		if (n > map->n_blocks - first_block)
			return damaged("more blocks than were announced", reterr);
		f->first_block = (uint32_t)first_block;
		f->n_blocks = (uint32_t)n;
		first_block += n;
	}
	return first_block == map->n_blocks ? 0 : damaged("blocks of no function", reterr);
}

static uint64_t hash_decode(struct decoder *d)
{
	uint64_t low = reader_u32(&d->columns[COLUMN_HASH_LOW]);

	return (uint64_t)reader_u32(&d->columns[COLUMN_HASH_HIGH]) << 32 | low;
}

static int ir_functions_decode(struct decoder *d, struct fault *reterr)
{
	struct block_map *map = d->map;
	size_t n = 0;

	for (size_t i = 0; i < map->n_functions; i++) {
		const struct block_function *f = &map->functions[i];

		if (!reader_u8(&d->columns[COLUMN_IR]))
			continue;
		if (n == map->n_ir_functions)
			return damaged("more IR functions than were announced", reterr);
		map->ir_functions[n].guid = f->guid;
		map->ir_functions[n].name = f->name;
		map->ir_functions[n++].cfg_hash = hash_decode(d);
	}
	for (; n < map->n_ir_functions; n++) {
		struct block_ir_function *ir = &map->ir_functions[n];
		int r = name_decode(d, &ir->name, reterr);

		if (r == 0)
			r = guid_decode(d, ir->name, &ir->guid, reterr);
		if (r < 0)
			return r;
		ir->cfg_hash = hash_decode(d);
	}
	block_map_sort_ir_functions(map);
	for (size_t i = 1; i < map->n_ir_functions; i++)
		if (map->ir_functions[i].guid == map->ir_functions[i - 1].guid)
			return damaged("two IR functions of one GUID", reterr);
	return 0;
}

static int edges_decode(struct decoder *d, const struct block_function *f, struct block *block,
			struct fault *reterr)
{
	struct block_map *map = d->map;
	int64_t place = block - map->blocks - f->first_block;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < block->n_edges; i++) {
		struct block_edge *edge = &map->edges[block->first_edge + i];
		int64_t target = reader_sleb(&d->columns[COLUMN_TARGETS]);
		uint64_t probability = reader_uleb(&d->columns[COLUMN_PROBABILITIES]);

		if (target < -(int64_t)UINT32_MAX || target > UINT32_MAX)
			return damaged("target", reterr);
		target += place + 1;
		if (target < 0 || target >= f->n_blocks || probability > d->n_dictionary)
			return damaged("target", reterr);
		edge->target = (uint32_t)target + f->first_block;
		if (probability == 0 && (i != block->n_edges - 1 || sum > PROBABILITY_ONE))
			return damaged("probability", reterr);
		edge->probability =
			probability ? d->dictionary[probability - 1] : (uint32_t)(PROBABILITY_ONE - sum);
		sum += edge->probability;
	}
	return 0;
}

static int calls_decode(struct decoder *d, struct block *block, struct fault *reterr)
{
	uint64_t offset = 0;

	for (uint32_t i = 0; i < block->n_calls; i++) {
		offset += reader_uleb(&d->columns[COLUMN_CALLS]);
		if (offset > block->size)
			return damaged("call behind the end of its block", reterr);
		d->map->calls[block->first_call + i] = (uint32_t)offset;
	}
	return 0;
}

static int probes_decode(struct decoder *d, const struct block_function *f, struct block *block,
			 int64_t *index, struct fault *reterr)
{
	struct block_map *map = d->map;

	for (uint32_t i = 0; i < block->n_probes; i++) {
		struct block_probe *p = &map->probes[block->first_probe + i];
		int64_t delta = reader_sleb(&d->columns[COLUMN_INDICES]);
		uint64_t of = reader_uleb(&d->columns[COLUMN_PROBE_GUIDS]);

		if (delta < -(int64_t)UINT32_MAX - 1 || delta > UINT32_MAX)
			return damaged("probe", reterr);
		*index += delta + 1;
		if (*index < 0 || *index > UINT32_MAX ||
		    (of >= PROBE_OF_IR_FUNCTION && of - PROBE_OF_IR_FUNCTION >= map->n_ir_functions))
			return damaged("probe", reterr);
		p->index = (uint32_t)*index;
		p->guid = of == PROBE_OF_FUNCTION ? f->guid :
			  of == PROBE_GUID_GIVEN  ? reader_u64(&d->columns[COLUMN_GUIDS]) :
						    map->ir_functions[of - PROBE_OF_IR_FUNCTION].guid;
	}
	return 0;
}

/* The next @n elements of an array of which @*filled are given out. */
static int share_take(size_t *filled, size_t total, uint64_t n, uint32_t *retfirst, uint32_t *retn,
		      struct fault *reterr)
{
	if (n > total - *filled)
		return damaged("more edges, calls or probes than were announced", reterr);
	*retfirst = (uint32_t)*filled;
	*retn = (uint32_t)n;
	*filled += n;
	return 0;
}

static int block_shape_decode(struct decoder *d, struct block *block, struct fault *reterr)
{
	struct block_map *map = d->map;
	int r;

	r = share_take(&d->edges, map->n_edges, reader_uleb(&d->columns[COLUMN_N_EDGES]), &block->first_edge,
		       &block->n_edges, reterr);
	if (r == 0)
		r = share_take(&d->calls, map->n_calls, reader_uleb(&d->columns[COLUMN_N_CALLS]),
			       &block->first_call, &block->n_calls, reterr);
	if (r == 0)
		r = share_take(&d->probes, map->n_probes, reader_uleb(&d->columns[COLUMN_N_PROBES]),
			       &block->first_probe, &block->n_probes, reterr);
	return r;
}

static int blocks_decode(struct decoder *d, const struct block_function *f, uint64_t *end,
			 struct fault *reterr)
{
	int64_t id = -1, index = 0;

	for (uint32_t i = 0; i < f->n_blocks; i++) {
		struct block *block = &d->map->blocks[f->first_block + i];
		int64_t delta = reader_sleb(&d->columns[COLUMN_IDS]);
		uint64_t size = reader_uleb(&d->columns[COLUMN_SIZES]);
		int r;

		block->address = *end + (uint64_t)reader_sleb(&d->columns[COLUMN_GAPS]);
		block->flags = reader_u8(&d->columns[COLUMN_FLAGS]);
		if (delta < -(int64_t)UINT32_MAX - 1 || delta > UINT32_MAX || size > UINT32_MAX ||
		    block->address > UINT64_MAX - size)
			return damaged("block", reterr);
		id += delta + 1;
		if (id < 0 || id > UINT32_MAX)
			return damaged("block ID", reterr);
		block->id = (uint32_t)id;
		block->size = (uint32_t)size;
		*end = block->address + size;
		r = block_shape_decode(d, block, reterr);
		if (r == 0)
			r = edges_decode(d, f, block, reterr);
		if (r == 0)
			r = calls_decode(d, block, reterr);
		if (r == 0)
			r = probes_decode(d, f, block, &index, reterr);
		if (r < 0)
			return r;
	}
	return 0;
}

static int code_decode(struct decoder *d, struct fault *reterr)
{
	struct block_map *map = d->map;
	uint64_t end = 0;

	for (size_t i = 0; i < map->n_functions; i++) {
		struct block_function *f = &map->functions[i];
		int r;

		f->address += end;
		end = f->address;
		r = blocks_decode(d, f, &end, reterr);
		if (r < 0)
			return r;
		if (i && f->address < map->functions[i - 1].address)
			return damaged("functions out of order", reterr);
	}
	for (unsigned i = 0; i < N_COLUMNS; i++)
		if (d->columns[i].bad || reader_left(&d->columns[i]))
			return damaged("a column is too short or too long", reterr);
	if (d->edges != map->n_edges || d->calls != map->n_calls || d->probes != map->n_probes)
		return damaged("fewer edges, calls or probes than were announced", reterr);
	return 0;
}

int block_map_decode(const void *bytes, size_t size, struct block_map **ret, struct fault *reterr)
{
	_clean_(decoder_done) struct decoder d = { .map = calloc(1, sizeof(*d.map)) };
	struct reader in = reader_of(bytes, size);
	int r;

	if (!d.map)
		return fault_errno(reterr, -ENOMEM, "block map");
	r = head_decode(&d, &in, reterr);
	if (r == 0)
		r = dictionary_decode(&d, reterr);
	if (r == 0)
		r = functions_decode(&d, reterr);
	if (r == 0)
		r = ir_functions_decode(&d, reterr);
	if (r == 0)
		r = code_decode(&d, reterr);
	if (r < 0)
		return r;
	if (block_map_index(d.map) < 0)
		return fault_errno(reterr, -ENOMEM, "block map");
	*ret = TAKE(d.map);
	return 0;
}
