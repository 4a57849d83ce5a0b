/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	section:  function*
 *	function: version(1) features(1; 2 from version 5) [n_ranges] range* profile
 *	range:    base address(8) n_blocks block*
 *	block:    ID, offset from the previous block's end, [n_calls, call end deltas],
 *	          size from the last call's end, metadata, [hash(8)]
 *	profile:  [entry count] and per block, ranges in order: [frequency] [post-link frequency]
 *	          [n_successors (ID, probability, [post-link frequency])*]
 *
 * Numbers without a width are ULEB128. Square brackets: present when a feature bit says so.
 */

#include "module/bb_addr_map.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/search.h"
#include "module/array.h"

enum feature {
	FEATURE_ENTRY_COUNT = 1 << 0,
	FEATURE_FREQUENCY = 1 << 1,
	FEATURE_PROBABILITY = 1 << 2,
	FEATURE_RANGES = 1 << 3,
	FEATURE_NO_BLOCKS = 1 << 4,
	FEATURE_CALLS = 1 << 5,
	FEATURE_HASH = 1 << 6,
	FEATURE_POST_LINK = 1 << 7,
	FEATURE_ALL = (1 << 8) - 1,
};

#define BLOCK_FLAGS_ALL 0x1fu

static int damaged(const struct reader *in, const char *what, struct fault *reterr)
{
	return fault_set(reterr, -EBADMSG, "address map damaged at byte %zu: %s", reader_offset(in), what);
}

static int calls_read(struct block_builder *b, struct reader *in, struct block *block, uint64_t *retend,
		      struct fault *reterr)
{
	struct block_map *map = b->map;
	uint64_t n = reader_uleb(in), end = 0;

	block->first_call = (uint32_t)map->n_calls;
	if (n > reader_left(in))
		return damaged(in, "more calls than bytes", reterr);
	block->n_calls = (uint32_t)n;
	for (uint64_t i = 0; i < n; i++) {
		end += reader_uleb(in);
		if (in->bad || end > UINT32_MAX)
			return damaged(in, "call", reterr);
		if (!array_reserve(map->calls, map->n_calls, &b->calls))
			return fault_errno(reterr, -ENOMEM, "address map");
		map->calls[map->n_calls++] = (uint32_t)end;
	}
	*retend = end;
	return 0;
}

/* @end: address where the previous block of the range ended, then where this one does. */
static int block_read(struct block_builder *b, struct reader *in, unsigned features, uint64_t *end,
		      struct fault *reterr)
{
	struct block_map *map = b->map;
	uint64_t id = reader_uleb(in), gap = reader_uleb(in), size = 0, flags;
	struct block block = { .first_call = (uint32_t)map->n_calls };
	int r = 0;

	if (features & FEATURE_CALLS)
		r = calls_read(b, in, &block, &size, reterr);
	if (r < 0)
		return r;
	size += reader_uleb(in);
	flags = reader_uleb(in);
	if (features & FEATURE_HASH)
		reader_u64(in);
	if (in->bad || id > UINT32_MAX || size > UINT32_MAX || gap > UINT32_MAX ||
	    flags & ~(uint64_t)BLOCK_FLAGS_ALL || *end > UINT64_MAX - gap - size)
		return damaged(in, "block", reterr);
	block.address = *end + gap;
	block.size = (uint32_t)size;
	block.id = (uint32_t)id;
	block.flags = (uint32_t)flags;
	*end = block.address + size;
	if (!array_reserve(map->blocks, map->n_blocks, &b->blocks))
		return fault_errno(reterr, -ENOMEM, "address map");
	map->blocks[map->n_blocks++] = block;
	return 0;
}

static int range_read(struct block_builder *b, struct reader *in, unsigned features, uint64_t *retbase,
		      struct fault *reterr)
{
	uint64_t base = reader_u64(in), n = reader_uleb(in), end = base;

	*retbase = base;
	if (in->bad || n > reader_left(in))
		return damaged(in, "more blocks than bytes", reterr);
	for (uint64_t i = 0; i < n && !(features & FEATURE_NO_BLOCKS); i++) {
		int r = block_read(b, in, features, &end, reterr);

		if (r < 0)
			return r;
	}
	return 0;
}

static int edges_read(struct block_builder *b, struct reader *in, unsigned features, struct block *block,
		      struct fault *reterr)
{
	struct block_map *map = b->map;
	uint64_t n = reader_uleb(in);

	if (in->bad || n > reader_left(in))
		return damaged(in, "more successors than bytes", reterr);
	block->n_edges = (uint32_t)n;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t id = reader_uleb(in), probability = reader_uleb(in);

		if (features & FEATURE_POST_LINK)
			reader_uleb(in);
		if (in->bad || id > UINT32_MAX || probability > UINT32_MAX)
			return damaged(in, "successor", reterr);
		if (!array_reserve(map->edges, map->n_edges, &b->edges))
			return fault_errno(reterr, -ENOMEM, "address map");
		/* UINT32_MAX is LLVM's "unknown". */
		map->edges[map->n_edges++] = (struct block_edge){
			.target = (uint32_t)id,
			.probability = probability == UINT32_MAX ? 0 : (uint32_t)probability,
		};
	}
	return 0;
}

/* Frequencies are relative to the entry block's; without an entry count they mean nothing. */
static void counts_scale(struct block_map *map, struct block_function *f, uint64_t entry_count)
{
	struct block *blocks = &map->blocks[f->first_block];
	double entry = f->n_blocks ? blocks[0].count : 0;
	double scale = entry > 0 ? (double)entry_count / entry : 0;

	for (uint32_t i = 0; i < f->n_blocks; i++)
		blocks[i].count *= scale;
	f->has_counts = scale > 0;
}

static int profile_read(struct block_builder *b, struct reader *in, unsigned features,
			struct block_function *f, struct fault *reterr)
{
	const uint64_t entry_count = features & FEATURE_ENTRY_COUNT ? reader_uleb(in) : 0;

	if (!(features & (FEATURE_FREQUENCY | FEATURE_PROBABILITY)))
		return in->bad ? damaged(in, "ends in the entry count of a function", reterr) : 0;
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		struct block *block = &b->map->blocks[f->first_block + i];
		int r = 0;

		block->first_edge = (uint32_t)b->map->n_edges;
		if (features & FEATURE_FREQUENCY)
			block->count = (double)reader_uleb(in);
		if (features & FEATURE_POST_LINK)
			reader_uleb(in);
		if (features & FEATURE_PROBABILITY)
			r = edges_read(b, in, features, block, reterr);
		if (r < 0)
			return r;
	}
	if (features & FEATURE_FREQUENCY)
		counts_scale(b->map, f, entry_count);
	return in->bad ? damaged(in, "ends in the profile of a function", reterr) : 0;
}

static int id_compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Successors are named by ID; turn them into places in the function. */
static int edges_resolve(struct block_map *map, const struct block_function *f, size_t first_edge,
			 struct fault *reterr)
{
	_clean_(freep) uint64_t *by_id = NULL;

	if (first_edge == map->n_edges)
		return 0;
	by_id = calloc(f->n_blocks, sizeof(*by_id));
	if (!by_id)
		return fault_errno(reterr, -ENOMEM, "address map");
	for (uint32_t i = 0; i < f->n_blocks; i++)
		by_id[i] = (uint64_t)map->blocks[f->first_block + i].id << 32 | i;
	qsort(by_id, f->n_blocks, sizeof(*by_id), id_compare);
	for (size_t i = first_edge; i < map->n_edges; i++) {
		uint64_t key = (uint64_t)map->edges[i].target << 32;
		size_t low = LOWER_BOUND(0, f->n_blocks, middle, by_id[middle] < key);

		if (low == f->n_blocks || by_id[low] >> 32 != map->edges[i].target)
			return fault_set(reterr, -EBADMSG,
					 "address map damaged: function at %#llx has a successor %u that "
					 "is none of its blocks",
					 (unsigned long long)f->address, map->edges[i].target);
		map->edges[i].target = (uint32_t)by_id[low];
	}
	return 0;
}

static int function_read(struct block_builder *b, struct reader *in, struct fault *reterr)
{
	struct block_map *map = b->map;
	unsigned version = reader_u8(in), features;
	struct block_function f = { .first_block = (uint32_t)map->n_blocks };
	size_t first_edge = map->n_edges;
	uint64_t n_ranges = 1, base;
	int r;

	if (version < BB_ADDR_MAP_VERSION_MIN || version > BB_ADDR_MAP_VERSION_MAX)
		return fault_set(reterr, -EPROTONOSUPPORT,
				 "address map of version %u; this Morph reads versions %u to %u", version,
				 BB_ADDR_MAP_VERSION_MIN, BB_ADDR_MAP_VERSION_MAX);
	features = version >= 5 ? reader_u16(in) : reader_u8(in);
	if (features & ~(unsigned)FEATURE_ALL)
		return fault_set(reterr, -EPROTONOSUPPORT, "address map with unknown features %#x", features);
	if (features & FEATURE_RANGES)
		n_ranges = reader_uleb(in);
	if (in->bad || n_ranges == 0)
		return damaged(in, "function", reterr);
	for (uint64_t i = 0; i < n_ranges; i++) {
		r = range_read(b, in, features, &base, reterr);
		if (r < 0)
			return r;
		if (i == 0)
			f.address = base;
	}
	if (map->n_blocks > INT32_MAX || map->n_edges > INT32_MAX || map->n_calls > INT32_MAX)
		return damaged(in, "impossibly many blocks", reterr);
	f.n_blocks = (uint32_t)map->n_blocks - f.first_block;
	r = profile_read(b, in, features, &f, reterr);
	if (r == 0)
		r = edges_resolve(map, &f, first_edge, reterr);
	if (r < 0)
		return r;
	if (!array_reserve(map->functions, map->n_functions, &b->functions))
		return fault_errno(reterr, -ENOMEM, "address map");
	map->functions[map->n_functions++] = f;
	return 0;
}

int bb_addr_map_read(struct block_builder *builder, const void *bytes, size_t size, struct fault *reterr)
{
	struct reader in = reader_of(bytes, size);

	while (reader_left(&in)) {
		int r = function_read(builder, &in, reterr);

		if (r < 0)
			return r;
	}
	return 0;
}
