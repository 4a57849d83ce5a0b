/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Functions are matched by GUID; among those of one name (static functions of several files) the k-th
 * by address matches the k-th, because the linker keeps their order.
 */

#include "editor/trust/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macro.h"
#include "editor/trust/run_path.h"

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

		if (x->id != y->id || x->size != y->size ||
		    x->address - f->address != y->address - g->address)
			return false;
	}
	return true;
}

static bool has_same_bytes(const struct image *a, const struct block_map *a_map,
			   const struct block_function *f, const struct image *b,
			   const struct block_map *b_map, const struct block_function *g)
{
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct block *x = &a_map->blocks[f->first_block + i],
				   *y = &b_map->blocks[g->first_block + i];
		const uint8_t *p, *q;

		if (!x->size)
			continue;
		p = image_code(a, x->address, x->size);
		q = image_code(b, y->address, y->size);
		if (!p || !q || memcmp(p, q, x->size) != 0)
			return false;
	}
	return true;
}

/* Two maps, function by function. */
struct pairs {
	const struct image *shipped, *again;
	const struct block_map *shipped_map, *again_map;
	const struct key *xs, *ys;
	size_t i, j;
};

struct pair {
	const struct block_function *function; /* of the shipped file */
	bool same_blocks, same_bytes;
};

static int pairs_open(struct pairs *p, struct arena *arena)
{
	p->xs = arena ? keys_of(p->shipped_map, arena) : NULL;
	p->ys = arena ? keys_of(p->again_map, arena) : NULL;
	return p->xs && p->ys ? 0 : -ENOMEM;
}

static bool pairs_next(struct pairs *p, struct pair *ret)
{
	const struct block_function *f, *g = NULL;
	uint64_t guid;

	if (p->i == p->shipped_map->n_functions)
		return false;
	guid = p->xs[p->i].guid;
	f = &p->shipped_map->functions[p->xs[p->i++].function];
	while (p->j < p->again_map->n_functions && p->ys[p->j].guid < guid)
		p->j++;
	if (p->j < p->again_map->n_functions && p->ys[p->j].guid == guid)
		g = &p->again_map->functions[p->ys[p->j++].function];
	ret->function = f;
	ret->same_blocks = g && has_same_blocks(p->shipped_map, f, p->again_map, g);
	ret->same_bytes =
		ret->same_blocks && has_same_bytes(p->shipped, p->shipped_map, f, p->again, p->again_map, g);
	return true;
}

/* Fills @ret; *retfirst: the first function that differs, or NULL. */
static int functions_compare(struct pairs *pairs, struct trust_report *ret, const char **retfirst)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct pair pair;
	int r = pairs_open(pairs, arena);

	*retfirst = NULL;
	*ret = (struct trust_report){ .n_functions = pairs->shipped_map->n_functions };
	while (r == 0 && pairs_next(pairs, &pair)) {
		ret->n_same_blocks += pair.same_blocks;
		ret->n_same_bytes += pair.same_bytes;
		if (!pair.same_bytes && !*retfirst)
			*retfirst = pair.function->name ? pair.function->name : "a function without a name";
	}
	return r;
}

int trust_differences(const struct image *shipped, const struct block_map *shipped_map,
		      const struct image *again, const struct block_map *again_map, trust_difference *each,
		      void *userdata)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct pairs first = { shipped, again, shipped_map, again_map, NULL, NULL, 0, 0 }, second;
	struct pair pair;
	bool in_blocks = false;
	int r = pairs_open(&first, arena);

	second = first;
	while (r == 0 && pairs_next(&first, &pair))
		in_blocks |= !pair.same_blocks;
	while (r == 0 && pairs_next(&second, &pair))
		if (in_blocks ? !pair.same_blocks : !pair.same_bytes)
			each(userdata, pair.function->name ? pair.function->name : "");
	return r;
}

/* Where section headers are is no part of what runs, and differs between a stripped file and one that is not. */
static Elf64_Ehdr header_of(const uint8_t *bytes)
{
	Elf64_Ehdr header;

	memcpy(&header, bytes, sizeof(header));
	header.e_shoff = 0;
	header.e_shentsize = header.e_shnum = header.e_shstrndx = 0;
	return header;
}

static bool has_same_headers(const struct image *shipped, const struct image *again)
{
	size_t n;
	Elf64_Ehdr x = header_of(image_bytes(shipped, &n)), y = header_of(image_bytes(again, &n));

	if (memcmp(&x, &y, sizeof(x)) != 0 || image_n_segments(shipped) != image_n_segments(again))
		return false;
	for (size_t i = 0; i < image_n_segments(shipped); i++)
		if (memcmp(image_segment_at(shipped, i), image_segment_at(again, i), sizeof(Elf64_Phdr)) != 0)
			return false;
	return true;
}

/* Offset in the file of the first difference in a segment that both have at the same place; SIZE_MAX: none. */
static size_t segment_compare(const struct image *shipped, const struct image *again,
			      const struct run_path_change *change, const Elf64_Phdr *segment)
{
	size_t n, m, from = segment->p_offset, end;
	const uint8_t *x = image_bytes(shipped, &n), *y = image_bytes(again, &m);

	if (from < sizeof(Elf64_Ehdr))
		from = sizeof(Elf64_Ehdr); /* has_same_headers() */
	if (segment->p_filesz > MIN(n, m) || segment->p_offset > MIN(n, m) - segment->p_filesz)
		return segment->p_offset;
	end = segment->p_offset + segment->p_filesz;
	while (from < end && memcmp(x + from, y + from, end - from) != 0) {
		size_t at = from;

		while (x[at] == y[at])
			at++;
		from = run_path_change_end(change, at);
		if (from <= at)
			return at;
	}
	return SIZE_MAX;
}

static int difference_report(const struct image *shipped, size_t at, struct fault *reterr)
{
	for (size_t i = 0; i < image_n_sections(shipped); i++) {
		const struct image_section *s = image_section_at(shipped, i);

		if ((s->flags & SHF_ALLOC) && s->data && at - s->offset < s->size)
			return fault_set(reterr, 1, "its section %s differs from offset %#zx on", s->name,
					 at - (size_t)s->offset);
	}
	return fault_set(reterr, 1, "what is loaded differs from offset %#zx of the file on", at);
}

/* A section that changed its size is the better message. */
static int headers_report(const struct image *shipped, const struct image *again, struct fault *reterr)
{
	for (size_t i = 0; i < image_n_sections(shipped); i++) {
		const struct image_section *s = image_section_at(shipped, i),
					   *t = image_section_find(again, s->name);

		if ((s->flags & SHF_ALLOC) && (!t || t->size != s->size))
			return fault_set(reterr, 1, "its section %s has %llu bytes, regenerated %llu",
					 s->name, (unsigned long long)s->size,
					 t ? (unsigned long long)t->size : 0ull);
	}
	return fault_set(reterr, 1, "its entry point or its segments do not regenerate");
}

static int loaded_compare(const struct image *shipped, const struct image *again, struct fault *reterr)
{
	struct run_path_change change;

	if (!has_same_headers(shipped, again))
		return headers_report(shipped, again, reterr);
	change = run_path_change_find(shipped, again);
	for (size_t i = 0; i < image_n_segments(shipped); i++) {
		const Elf64_Phdr *segment = image_segment_at(shipped, i);
		size_t at = segment->p_type == PT_LOAD ? segment_compare(shipped, again, &change, segment) :
							 SIZE_MAX;

		if (at != SIZE_MAX)
			return difference_report(shipped, at, reterr);
	}
	return 0;
}

int trust_compare(const struct image *shipped, const struct block_map *shipped_map, const struct image *again,
		  const struct block_map *again_map, struct trust_report *ret, struct fault *reterr)
{
	struct pairs pairs = { shipped, again, shipped_map, again_map, NULL, NULL, 0, 0 };
	const char *first;
	int r = functions_compare(&pairs, ret, &first);

	if (r < 0)
		return fault_errno(reterr, r, "comparing with the shipped text");
	r = loaded_compare(shipped, again, reterr);
	if (r == 0 && ret->n_same_blocks < ret->n_functions)
		r = fault_set(reterr, 1, "its block map is not that of its code");
	else if (r == 1 && first)
		fault_set(reterr, 1, "%zu of %zu functions do not regenerate, the first is %s",
			  ret->n_functions - ret->n_same_bytes, ret->n_functions, first);
	return r;
}
