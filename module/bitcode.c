/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A scanner over the walk of bitstream.c: it reads bits and looks at records, and keeps nothing.
 */

#include "module/bitcode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module/bits.h"
#include "module/bitstream.h"

#define MODULE_BLOCK 8u
#define MODULE_SOURCE_FILENAME 16u

struct scan {
	struct bitstream_walk walk;
	struct bit_reader in;
	char *name; /* borrowed from the caller; NULL: not wanted */
	size_t name_size, name_at;
	bool found;
};

bool bitcode_is(const void *bytes, size_t size)
{
	return size >= 4 && memcmp(bytes, "BC\xc0\xde", 4) == 0;
}

static struct scan *scan_of(struct bitstream_walk *walk)
{
	return (struct scan *)walk;
}

/* The name is an array of characters; it is collected as they pass, being longer than what is kept. */
static void name_note(struct scan *s, uint64_t v)
{
	const struct bitstream_walk *w = &s->walk;

	if (!s->name || !w->depth || w->stack[w->depth - 1].id != MODULE_BLOCK || w->n_values == 0 ||
	    w->values[0] != MODULE_SOURCE_FILENAME)
		return;
	if (s->name_at + 1 < s->name_size)
		s->name[s->name_at++] = (char)v;
	s->name[s->name_at] = '\0';
}

static char char6(uint64_t v)
{
	return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"[v & 63];
}

static bool value_is_char6(const struct bitstream_walk *w)
{
	const struct bitstream_block *block = &w->stack[w->depth - 1];
	const struct abbreviation *a;

	if (w->abbreviation_id < 4 || !w->in_array)
		return false;
	a = block->abbreviations[w->abbreviation_id - 4];
	return a->operands[a->n_operands - 1].kind == ABBREVIATION_CHAR6;
}

static bool scan_fixed(struct bitstream_walk *w, enum primitive_role role, unsigned width, uint64_t *ret)
{
	struct scan *s = scan_of(w);

	*ret = bits_read(&s->in, width);
	if (role == ROLE_VALUE)
		name_note(s, value_is_char6(w) ? (uint64_t)char6(*ret) : *ret);
	return !s->in.bad;
}

static bool scan_vbr(struct bitstream_walk *w, enum primitive_role role, unsigned width, uint64_t *ret)
{
	struct scan *s = scan_of(w);

	*ret = bits_read_vbr(&s->in, width);
	if (role == ROLE_VALUE)
		name_note(s, *ret);
	return !s->in.bad;
}

static bool scan_align(struct bitstream_walk *w)
{
	struct scan *s = scan_of(w);

	bits_align(&s->in);
	return !s->in.bad;
}

static bool scan_block_begin(struct bitstream_walk *w)
{
	bits_read(&scan_of(w)->in, 32);
	return !scan_of(w)->in.bad;
}

static bool scan_block_end(_unused_ struct bitstream_walk *w)
{
	return true;
}

static bool scan_record_end(struct bitstream_walk *w)
{
	struct scan *s = scan_of(w);

	if (!s->name || !s->name_at)
		return true;
	s->found = true;
	return false;
}

static bool scan_more(struct bitstream_walk *w, bool *ret)
{
	struct bit_reader *in = &scan_of(w)->in;

	*ret = in->at / 8 < in->size;
	return true;
}

static const struct bitstream_source scan_source = {
	.fixed = scan_fixed, .vbr = scan_vbr, .align = scan_align, .block_begin = scan_block_begin,
	.block_end = scan_block_end, .record_end = scan_record_end, .more = scan_more,
};

static int scan_run(struct scan *s, struct fault *reterr)
{
	bool ok = bitcode_is(s->in.bytes, s->in.size) && bitstream_walk(&s->walk);

	bitstream_walk_done(&s->walk);
	if (!ok && !s->found)
		return fault_set(reterr, -EBADMSG, "bitcode damaged at byte %zu", s->in.at / 8);
	return 0;
}

static struct scan *scan_new(const void *bytes, size_t size)
{
	struct scan *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->walk.source = &scan_source;
	s->in = (struct bit_reader){ .bytes = bytes, .size = size };
	return s;
}

/* Top-level blocks carry their length; a module ends where the next magic stands, or the bytes do. */
int bitcode_size(const void *bytes, size_t size, size_t *retsize, struct fault *reterr)
{
	struct bit_reader in = { .bytes = bytes, .size = size, .at = 32 };
	const uint8_t *p = bytes;
	uint64_t at = 4;

	if (!bitcode_is(bytes, size))
		return fault_set(reterr, -EBADMSG, "bitcode without its magic");
	while (at < size && !bitcode_is(p + at, size - at)) {
		bool enters = bits_read(&in, 2) == 1;

		bits_read_vbr(&in, 8);
		bits_read_vbr(&in, 4);
		bits_align(&in);
		at = bits_read(&in, 32) * 4 + in.at / 8;
		if (!enters || in.bad || at > size)
			return fault_set(reterr, -EBADMSG, "bitcode damaged at byte %llu",
					 (unsigned long long)(in.at / 8));
		in.at = at * 8;
	}
	*retsize = at;
	return 0;
}

int bitcode_source_name(const void *bytes, size_t size, char *ret, size_t ret_size,
			struct fault *reterr)
{
	_clean_(freep) struct scan *s = scan_new(bytes, size);

	if (!s)
		return fault_errno(reterr, -ENOMEM, "bitcode");
	ret[0] = '\0';
	s->name = ret;
	s->name_size = ret_size;
	return scan_run(s, reterr);
}
