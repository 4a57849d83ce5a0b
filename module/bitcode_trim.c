/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Two walks over the module (bitstream.c):
 *	1. which value is the function of probes? Global values are numbered in the order of their records.
 *	2. every field is copied, but for
 *		- the symbol table for linkers
 *		- the order of uses of the function of probes, and a table of such orders that is empty then
 *	   Blocks behind what went stand earlier now: their lengths, and the words at which the module says
 *	   that its functions and their names begin, follow.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "module/array.h"
#include "module/bitcode.h"
#include "module/bits.h"
#include "module/bitstream.h"

/* llvm/Bitcode/LLVMBitCodes.h, LLVM 22 */
enum block_id {
	MODULE_BLOCK = 8,
	FUNCTION_BLOCK = 12,
	NAMES_BLOCK = 14,
	USELIST_BLOCK = 18,
	STRTAB_BLOCK = 23,
	SYMTAB_BLOCK = 25,
};

enum module_code {
	MODULE_GLOBAL = 7,
	MODULE_FUNCTION = 8,
	MODULE_ALIAS_OLD = 9,
	MODULE_NAMES_AT = 13,
	MODULE_ALIAS = 14,
	MODULE_IFUNC = 15,
};

#define NAMES_FUNCTION_AT 3u
#define USELIST_OF_VALUE 1u
#define NO_VALUE UINT64_MAX

static const char probe_name[] = "llvm.pseudoprobe";

/* Where a block began, in words from the magic on. */
struct move {
	uint64_t before, after;
};

struct trim {
	struct bitstream_walk walk; /* first: the walk's functions find us by it */
	struct bit_reader in;
	uint8_t *out; /* owned; as large as the input; NULL in the first walk */
	uint64_t out_at;
	/* the first walk */
	uint64_t n_values, *candidates; /* owned; pairs: value, offset of a name as long as the probes' */
	size_t n_candidates, capacity;
	size_t strings_at, strings_size; /* of names, in bytes */
	/* the second */
	uint64_t probe;		      /* the value, or NO_VALUE */
	uint64_t entry_in, entry_out; /* bits: where the entry that is being walked begins */
	struct {
		uint64_t entry, start; /* bits written: before its first field, behind its length */
		bool is_kept;	       /* something stands in it */
	} blocks[BITSTREAM_MAX_DEPTH];
	struct move *moves; /* owned; ascending */
	size_t n_moves, moves_capacity;
	uint64_t names_at; /* bits written: the field that says where the names are; 0: none */
	bool no_memory;
};

static struct trim *trim_of(struct bitstream_walk *walk)
{
	return (struct trim *)walk;
}

/* What was written behind @at is taken back. */
static void out_return(struct trim *t, uint64_t at)
{
	uint64_t byte = at / 8, end = (t->out_at + 7) / 8;

	if (at % 8)
		t->out[byte++] &= (uint8_t)((1u << at % 8) - 1);
	if (byte < end)
		memset(t->out + byte, 0, end - byte);
	t->out_at = at;
}

static bool bits_write(struct trim *t, unsigned width, uint64_t v)
{
	if (!t->out)
		return true;
	if (t->out_at + width > (uint64_t)t->in.size * 8)
		return false;
	for (unsigned left = width; left;) {
		unsigned shift = t->out_at % 8, n = left < 8 - shift ? left : 8 - shift;

		t->out[t->out_at / 8] |= (uint8_t)((v & ((1u << n) - 1)) << shift);
		v >>= n;
		left -= n;
		t->out_at += n;
	}
	return true;
}

static bool vbr_write(struct trim *t, unsigned width, uint64_t v)
{
	uint64_t more = 1ull << (width - 1);

	for (; v >= more; v >>= width - 1)
		if (!bits_write(t, width, (v & (more - 1)) | more))
			return false;
	return bits_write(t, width, v);
}

/* Where the block that began at word @before begins now; false: none did. */
static bool moved(const struct trim *t, uint64_t before, uint64_t *ret)
{
	size_t low = 0, high = t->n_moves;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->moves[middle].before < before)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == t->n_moves || t->moves[low].before != before)
		return false;
	*ret = t->moves[low].after;
	return true;
}

static bool move_note(struct trim *t, uint64_t before, uint64_t after)
{
	if (before % 32 || after % 32)
		return true; /* no place that the module could name */
	if (!array_reserve(t->moves, t->n_moves, &t->moves_capacity)) {
		t->no_memory = true;
		return false;
	}
	t->moves[t->n_moves++] = (struct move){ before / 32, after / 32 };
	return true;
}

/* The field before is read, and stands in the walk's values when the next is. */
static bool value_is_place_of_function(const struct bitstream_walk *w)
{
	return w->depth == 2 && w->stack[0].id == MODULE_BLOCK && w->stack[1].id == NAMES_BLOCK &&
	       w->n_values == 2 && w->values[0] == NAMES_FUNCTION_AT;
}

static bool value_is_place_of_names(const struct bitstream_walk *w)
{
	return w->depth == 1 && w->stack[0].id == MODULE_BLOCK && w->n_values == 1 &&
	       w->values[0] == MODULE_NAMES_AT;
}

/* The places where functions begin stand behind the functions; that of the names stands before them. */
static bool value_translate(struct trim *t, enum primitive_role role, unsigned width, uint64_t *v)
{
	if (!t->out || role != ROLE_VALUE)
		return true;
	if (value_is_place_of_names(&t->walk) && width == 32)
		t->names_at = t->out_at;
	return !value_is_place_of_function(&t->walk) || moved(t, *v, v);
}

static bool trim_fixed(struct bitstream_walk *w, enum primitive_role role, unsigned width, uint64_t *ret)
{
	struct trim *t = trim_of(w);
	uint64_t v;

	if (role == ROLE_ABBREVIATION_ID) {
		t->entry_in = t->in.at;
		t->entry_out = t->out_at;
	}
	if (role == ROLE_BLOB && w->stack[0].id == STRTAB_BLOCK && t->strings_size++ == 0)
		t->strings_at = (size_t)(t->in.at / 8);
	v = *ret = bits_read(&t->in, width);
	return !t->in.bad && value_translate(t, role, width, &v) && bits_write(t, width, v);
}

static bool trim_vbr(struct bitstream_walk *w, enum primitive_role role, unsigned width, uint64_t *ret)
{
	struct trim *t = trim_of(w);
	uint64_t v = *ret = bits_read_vbr(&t->in, width);

	return !t->in.bad && value_translate(t, role, width, &v) && vbr_write(t, width, v);
}

static bool trim_align(struct bitstream_walk *w)
{
	struct trim *t = trim_of(w);

	bits_align(&t->in);
	return !t->in.bad && bits_write(t, (unsigned)(-t->out_at & 31), 0);
}

static bool trim_block_begin(struct bitstream_walk *w)
{
	struct trim *t = trim_of(w);
	unsigned depth = w->depth - 1;

	bits_read(&t->in, 32);
	if (t->in.bad || !bits_write(t, 32, 0))
		return false;
	t->blocks[depth].entry = t->entry_out;
	t->blocks[depth].start = t->out_at;
	t->blocks[depth].is_kept = w->stack[depth].id != USELIST_BLOCK && w->stack[depth].id != SYMTAB_BLOCK;
	if (!t->out)
		return true;
	return move_note(t, t->entry_in, t->entry_out) && move_note(t, t->in.at, t->out_at);
}

static bool trim_block_end(struct bitstream_walk *w)
{
	struct trim *t = trim_of(w);
	unsigned depth = w->depth - 1;
	uint64_t start = t->blocks[depth].start;
	uint32_t words = (uint32_t)((t->out_at - start) / 32);

	if (t->out && t->blocks[depth].is_kept)
		memcpy(t->out + start / 8 - sizeof(words), &words, sizeof(words));
	else if (t->out)
		out_return(t, t->blocks[depth].entry);
	return true;
}

/* 1 */
static bool value_note(struct trim *t)
{
	const struct bitstream_walk *w = &t->walk;

	if (w->stack[w->depth - 1].id != MODULE_BLOCK)
		return true;
	switch (w->values[0]) {
	case MODULE_FUNCTION:
		if (w->values[2] == sizeof(probe_name) - 1) {
			if (!array_reserve(t->candidates, t->n_candidates + 1, &t->capacity)) {
				t->no_memory = true;
				return false;
			}
			t->candidates[t->n_candidates++] = t->n_values;
			t->candidates[t->n_candidates++] = w->values[1];
		}
		t->n_values++;
		break;
	case MODULE_GLOBAL:
	case MODULE_ALIAS_OLD:
	case MODULE_ALIAS:
	case MODULE_IFUNC: t->n_values++; break;
	default: break;
	}
	return true;
}

static bool trim_record_end(struct bitstream_walk *w)
{
	struct trim *t = trim_of(w);

	if (!t->out)
		return value_note(t);
	if (w->stack[w->depth - 1].id != USELIST_BLOCK)
		return true;
	if (w->values[0] == USELIST_OF_VALUE && w->n_values > 1 && w->last == t->probe)
		out_return(t, t->entry_out);
	else
		t->blocks[w->depth - 1].is_kept = true;
	return true;
}

static bool trim_more(struct bitstream_walk *w, bool *ret)
{
	const struct bit_reader *in = &trim_of(w)->in;

	*ret = in->at / 8 < in->size;
	return true;
}

static const struct bitstream_source trim_source = { .fixed = trim_fixed,
						     .vbr = trim_vbr,
						     .align = trim_align,
						     .block_begin = trim_block_begin,
						     .block_end = trim_block_end,
						     .record_end = trim_record_end,
						     .more = trim_more };

static uint64_t probe_find(const struct trim *t)
{
	const size_t size = sizeof(probe_name) - 1;

	for (size_t i = 0; i < t->n_candidates; i += 2) {
		uint64_t at = t->candidates[i + 1];

		if (at <= t->strings_size && size <= t->strings_size - at &&
		    memcmp(t->in.bytes + t->strings_at + at, probe_name, size) == 0)
			return t->candidates[i];
	}
	return NO_VALUE;
}

static bool names_place(struct trim *t)
{
	struct bit_reader field = { .bytes = t->out, .size = t->in.size, .at = t->names_at };
	uint64_t at = bits_read(&field, 32), end = t->out_at;
	bool ok;

	if (!t->names_at || at == 0)
		return true;
	if (!moved(t, at, &at))
		return false;
	for (unsigned i = 0; i < 32; i++) /* the field need not begin at a byte */
		t->out[(t->names_at + i) / 8] &= (uint8_t)~(1u << (t->names_at + i) % 8);
	t->out_at = t->names_at;
	ok = bits_write(t, 32, at);
	t->out_at = end;
	return ok;
}

static bool trim_walk(struct trim *t, const void *bytes, size_t size)
{
	bool ok;

	memset(&t->walk, 0, sizeof(t->walk));
	t->walk.source = &trim_source;
	t->in = (struct bit_reader){ .bytes = bytes, .size = size };
	ok = bitstream_walk(&t->walk);
	bitstream_walk_done(&t->walk);
	return ok;
}

static void trim_free(struct trim *t)
{
	free(t->out);
	free(t->candidates);
	free(t->moves);
	free(t);
}

int bitcode_trim(const void *bytes, size_t size, struct buffer *ret, struct fault *reterr)
{
	struct trim *t;
	bool ok;
	int r = 0;

	if (!bitcode_is(bytes, size))
		return fault_set(reterr, -EBADMSG, "bitcode without its magic");
	t = calloc(1, sizeof(*t));
	if (!t)
		return fault_errno(reterr, -ENOMEM, "bitcode");
	ok = trim_walk(t, bytes, size);
	if (ok) {
		t->probe = probe_find(t);
		t->out = calloc(1, size);
		t->no_memory = !t->out;
		ok = t->out && trim_walk(t, bytes, size) && names_place(t);
	}
	if (ok)
		buffer_bytes(ret, t->out, t->out_at / 8);
	if (t->no_memory || ret->bad)
		r = fault_errno(reterr, -ENOMEM, "bitcode");
	else if (!ok)
		r = fault_set(reterr, -EBADMSG, "bitcode damaged at byte %llu",
			      (unsigned long long)(t->in.at / 8));
	trim_free(t);
	return r;
}
