/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Building a map from a linked file:
 *	1. read the address map: functions, blocks, calls, edges
 *	2. order functions by address, their blocks with them
 *	3. read the probe descriptors: the IR functions; name functions by the symbol table
 *	4. read the probes and place each in the block of its function that holds its address
 *	5. give every function the GUID of its own probes
 *
 * block_map_codec.c has the encoded form, block_map_dump.c the text.
 */

#include "module/block_map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/search.h"
#include "module/array.h"
#include "module/bb_addr_map.h"
#include "module/block_map_private.h"
#include "module/md5.h"
#include "module/pseudo_probe.h"

struct build {
	const struct image *image;
	struct block_map *map;
	struct block_builder builder;
	struct probe_bases bases;
	struct pseudo_probes probes;
	struct probe_descriptors descriptors;
};

static void build_done(struct build *b)
{
	probe_bases_done(&b->bases);
	pseudo_probes_done(&b->probes);
	probe_descriptors_done(&b->descriptors);
	block_map_free(b->map);
}

/* 1 */
static int address_maps_read(struct build *b, struct fault *reterr)
{
	bool found = false;

	for (size_t i = 0; i < image_n_sections(b->image); i++) {
		const struct image_section *s = image_section_at(b->image, i);
		int r;

		if (s->type != SHT_BB_ADDR_MAP || !s->data)
			continue;
		found = true;
		r = bb_addr_map_read(&b->builder, s->data, s->size, reterr);
		if (r < 0)
			return fault_prefix(reterr, r, "%s", image_path(b->image));
	}
	if (!found)
		return fault_set(reterr, -ENODATA, "%s: has no basic block address map",
				 image_path(b->image));
	return 0;
}

static int function_compare(const void *a, const void *b)
{
	const struct block_function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->first_block < y->first_block ? -1 : x->first_block > y->first_block;
}

/* 2: edges counted from their function's first block; from here on they are indices in blocks[]. */
static int functions_sort(struct block_map *map)
{
	struct block *blocks;
	size_t at = 0;

	if (!map->n_functions)
		return 0;
	qsort(map->functions, map->n_functions, sizeof(*map->functions), function_compare);
	blocks = calloc(MAX(map->n_blocks, 1u), sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_functions; i++) {
		struct block_function *f = &map->functions[i];

		if (f->n_blocks)
			memcpy(blocks + at, map->blocks + f->first_block, f->n_blocks * sizeof(*blocks));
		f->first_block = (uint32_t)at;
		for (size_t j = at; j < at + f->n_blocks; j++)
			for (uint32_t e = 0; e < blocks[j].n_edges; e++)
				map->edges[blocks[j].first_edge + e].target += f->first_block;
		at += f->n_blocks;
	}
	free(map->blocks);
	map->blocks = blocks;
	return 0;
}

/* 3 */
static int descriptors_take(struct build *b, struct fault *reterr)
{
	const struct image_section *s = image_section_find(b->image, ".pseudo_probe_desc");
	struct block_map *map = b->map;
	int r;

	if (!s || !s->data)
		return 0;
	r = probe_descriptors_read(&b->descriptors, s->data, s->size, reterr);
	if (r < 0)
		return fault_prefix(reterr, r, "%s", image_path(b->image));
	map->ir_functions = calloc(MAX(b->descriptors.n_descriptors, 1u), sizeof(*map->ir_functions));
	if (!map->ir_functions)
		return fault_errno(reterr, -ENOMEM, "block map");
	for (size_t i = 0; i < b->descriptors.n_descriptors; i++) {
		const struct probe_descriptor *d = &b->descriptors.descriptors[i];
		struct block_ir_function *f = &map->ir_functions[map->n_ir_functions++];

		*f = (struct block_ir_function){ .guid = d->guid, .cfg_hash = d->cfg_hash };
		f->name = block_map_intern(map, d->name, d->n_name);
		if (!f->name)
			return fault_errno(reterr, -ENOMEM, "block map");
	}
	return 0;
}

/*
 * Of several symbols at one address: the IR function's own (the others are its aliases and versions),
 * then a function's, then a global one, then the first.
 */
static unsigned symbol_rank(const struct block_map *map, const struct image_symbol *s)
{
	return (block_map_ir_function(map, md5_guid(s->name, strlen(s->name))) ? 4 : 0) +
	       (s->type == STT_FUNC || s->type == STT_GNU_IFUNC ? 2 : 0) + (s->binding != STB_LOCAL);
}

static const struct image_symbol *symbol_at_address(const struct build *b, uint64_t address)
{
	const struct image *image = b->image;
	size_t low = LOWER_BOUND(0, image_n_symbols(image), middle,
				 image_symbol_at(image, middle)->address < address);
	const struct image_symbol *best = NULL;
	unsigned best_rank = 0;

	for (; low < image_n_symbols(image); low++) {
		const struct image_symbol *s = image_symbol_at(image, low);
		unsigned rank;

		if (s->address != address)
			break;
		if (s->type > STT_FUNC && s->type != STT_GNU_IFUNC)
			continue;
		rank = symbol_rank(b->map, s);
		if (!best || rank > best_rank) {
			best = s;
			best_rank = rank;
		}
	}
	return best;
}

static int functions_name(struct build *b)
{
	for (size_t i = 0; i < b->map->n_functions; i++) {
		struct block_function *f = &b->map->functions[i];
		const struct image_symbol *s = symbol_at_address(b, f->address);

		if (!s)
			continue;
		f->name = block_map_intern(b->map, s->name, strlen(s->name));
		if (!f->name)
			return -ENOMEM;
		f->symbol = s->index;
		f->guid = md5_guid(s->name, strlen(s->name));
	}
	return 0;
}

/* 4: a probe belongs to its own function's code; an address just behind it is another function's. */
static uint32_t probe_block(const struct block_map *map, const struct pseudo_probe *p)
{
	uint32_t at = block_map_function_at(map, p->function);
	const struct block_function *f = at == BLOCK_NONE ? NULL : &map->functions[at];
	uint32_t block = block_map_find(map, p->address);

	if (!f || block == BLOCK_NONE || block < f->first_block || block >= f->first_block + f->n_blocks)
		return BLOCK_NONE;
	return block;
}

static int probes_place(struct build *b)
{
	struct block_map *map = b->map;
	const struct pseudo_probes *in = &b->probes;
	_clean_(freep) uint32_t *block_of = calloc(MAX(in->n_probes, 1u), sizeof(*block_of));
	uint32_t at = 0;

	map->probes = calloc(MAX(in->n_probes, 1u), sizeof(*map->probes));
	if (!block_of || !map->probes)
		return -ENOMEM;
	for (size_t i = 0; i < in->n_probes; i++) {
		block_of[i] = probe_block(map, &in->probes[i]);
		if (block_of[i] == BLOCK_NONE)
			map->n_unplaced++;
		else
			map->blocks[block_of[i]].n_probes++;
	}
	for (size_t i = 0; i < map->n_blocks; i++) {
		map->blocks[i].first_probe = at;
		at += map->blocks[i].n_probes;
		map->blocks[i].n_probes = 0;
	}
	map->n_probes = at;
	for (size_t i = 0; i < in->n_probes; i++) {
		struct block *block = block_of[i] == BLOCK_NONE ? NULL : &map->blocks[block_of[i]];

		if (block)
			map->probes[block->first_probe + block->n_probes++] =
				(struct block_probe){ .guid = in->probes[i].guid,
						      .index = in->probes[i].index };
	}
	return 0;
}

static int probes_read(struct build *b, struct fault *reterr)
{
	if (probe_bases_init(&b->bases, b->image) < 0)
		return fault_errno(reterr, -ENOMEM, "block map");
	for (size_t i = 0; i < image_n_sections(b->image); i++) {
		const struct image_section *s = image_section_at(b->image, i);
		int r;

		if (strcmp(s->name, ".pseudo_probe") != 0 || !s->data)
			continue;
		r = pseudo_probes_read(&b->probes, &b->bases, s->data, s->size, reterr);
		if (r < 0)
			return fault_prefix(reterr, r, "%s", image_path(b->image));
	}
	if (probes_place(b) < 0)
		return fault_errno(reterr, -ENOMEM, "block map");
	return 0;
}

/* Is @name the source name of the symbol @symbol: "foo" of "foo.llvm.123", "foo.specialized.1"? */
static bool name_is_source_of(const char *name, const char *symbol)
{
	size_t n = strlen(name);

	return strncmp(name, symbol, n) == 0 && (symbol[n] == '.' || symbol[n] == '\0');
}

/*
 * 5: a function whose symbol was renamed (foo.llvm.123) has probes with the GUID of its source name
 * under -g. Probes inlined from elsewhere must not be mistaken for its own.
 */
static void function_take_guid(struct block_map *map, struct block_function *f)
{
	uint64_t renamed = 0;

	for (uint32_t i = f->first_block; i < f->first_block + f->n_blocks; i++) {
		const struct block *block = &map->blocks[i];

		for (uint32_t p = 0; p < block->n_probes; p++) {
			uint64_t guid = map->probes[block->first_probe + p].guid;
			const struct block_ir_function *ir;

			if (guid == f->guid)
				return;
			ir = renamed || !f->name ? NULL : block_map_ir_function(map, guid);
			if (ir && name_is_source_of(ir->name, f->name))
				renamed = guid;
		}
	}
	if (renamed)
		f->guid = renamed;
}

int block_map_build(const struct image *image, struct block_map **ret, struct fault *reterr)
{
	_clean_(build_done) struct build b = { .image = image, .map = calloc(1, sizeof(*b.map)) };
	int r;

	if (!b.map)
		return fault_errno(reterr, -ENOMEM, "block map");
	b.builder.map = b.map;
	b.map->build_id = *image_build_id(image);
	r = address_maps_read(&b, reterr);
	if (r < 0)
		return r;
	if (functions_sort(b.map) < 0 || block_map_index(b.map) < 0)
		return fault_errno(reterr, -ENOMEM, "block map");
	r = descriptors_take(&b, reterr);
	if (r == 0 && functions_name(&b) < 0)
		r = fault_errno(reterr, -ENOMEM, "block map");
	if (r == 0)
		r = probes_read(&b, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < b.map->n_functions; i++)
		function_take_guid(b.map, &b.map->functions[i]);
	*ret = TAKE(b.map);
	return 0;
}
