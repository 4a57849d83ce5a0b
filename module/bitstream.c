/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	stream: magic(32) block*
 *	block:  [1: enter] ID(vbr8) width(vbr4) align words(32) entry* [0: end] align
 *	entry:  block | [2: define] n(vbr5) operand* | [3] code(vbr6) n(vbr6) value(vbr6)* |
 *		[4 + i] values as abbreviation i lays them out
 *
 * [n] is an abbreviation ID of the enclosing block's width (2 at top level). Abbreviations that are
 * defined inside BLOCKINFO (block 0) belong to the block that its SETBID record named last.
 */

#include "module/bitstream.h"

#include <stdlib.h>
#include <string.h>

#include "module/array.h"

#define TOP_WIDTH 2u
#define ID_END 0u
#define ID_ENTER 1u
#define ID_DEFINE 2u
#define ID_RECORD 3u
#define BLOCKINFO 0u
#define BLOCKINFO_SETBID 1u
#define MAX_WIDTH 32u

static bool fixed(struct bitstream_walk *w, enum primitive_role role, unsigned width, uint64_t *ret)
{
	*ret = 0;
	return width == 0 || w->source->fixed(w, role, width, ret);
}

static bool vbr(struct bitstream_walk *w, enum primitive_role role, unsigned width, uint64_t *ret)
{
	*ret = 0;
	return width == 0 || w->source->vbr(w, role, width, ret);
}

static bool operand_walk(struct bitstream_walk *w, struct abbreviation_operand *op)
{
	uint64_t v;

	if (!fixed(w, ROLE_DEFINITION, 1, &v))
		return false;
	if (v) {
		op->kind = ABBREVIATION_LITERAL;
		return vbr(w, ROLE_DEFINITION, 8, &op->value);
	}
	if (!fixed(w, ROLE_DEFINITION, 3, &v) || v < ABBREVIATION_FIXED || v > ABBREVIATION_BLOB)
		return false;
	op->kind = (uint8_t)v;
	if (v != ABBREVIATION_FIXED && v != ABBREVIATION_VBR)
		return true;
	/* A VBR chunk of one bit would carry nothing. */
	return vbr(w, ROLE_DEFINITION, 5, &op->value) && op->value <= MAX_WIDTH &&
	       !(v == ABBREVIATION_VBR && op->value == 1);
}

static bool kind_is_scalar(unsigned kind)
{
	return kind != ABBREVIATION_ARRAY && kind != ABBREVIATION_BLOB;
}

/* An array is the last but one operand, followed by its element's; a blob is the last. */
static bool abbreviation_is_sound(const struct abbreviation *a)
{
	for (unsigned i = 0; i < a->n_operands; i++) {
		unsigned kind = a->operands[i].kind;

		if (kind == ABBREVIATION_BLOB && i != a->n_operands - 1)
			return false;
		if (kind == ABBREVIATION_ARRAY &&
		    (i + 2 != a->n_operands || !kind_is_scalar(a->operands[i + 1].kind)))
			return false;
	}
	return a->n_operands > 0 && kind_is_scalar(a->operands[0].kind);
}

static bool abbreviation_keep(struct bitstream_walk *w, struct abbreviation *a)
{
	struct bitstream_block *block = &w->stack[w->depth - 1];

	if (!array_reserve(w->owned, w->n_owned, &w->owned_capacity))
		return false;
	w->owned[w->n_owned++] = a;
	if (block->id == BLOCKINFO) {
		uint64_t id = w->info_block;

		if (id >= BITSTREAM_MAX_BLOCK_IDS || w->n_info[id] == BITSTREAM_MAX_ABBREVIATIONS)
			return false;
		w->info[id][w->n_info[id]++] = a;
		return true;
	}
	if (block->n_abbreviations == BITSTREAM_MAX_ABBREVIATIONS)
		return false;
	block->abbreviations[block->n_abbreviations++] = a;
	return true;
}

static bool definition_walk(struct bitstream_walk *w)
{
	struct abbreviation *a;
	uint64_t n;

	if (!vbr(w, ROLE_DEFINITION, 5, &n) || n > BITSTREAM_MAX_OPERANDS)
		return false;
	a = calloc(1, sizeof(*a));
	if (!a)
		return false;
	for (; a->n_operands < n; a->n_operands++)
		if (!operand_walk(w, &a->operands[a->n_operands]))
			break;
	if (a->n_operands == n && abbreviation_is_sound(a) && abbreviation_keep(w, a))
		return true;
	if (!w->n_owned || w->owned[w->n_owned - 1] != a)
		free(a);
	return false;
}

static bool char6(struct bitstream_walk *w, enum primitive_role role, uint64_t *ret)
{
	bool ok;

	w->is_char6 = true;
	ok = fixed(w, role, 6, ret);
	w->is_char6 = false;
	return ok;
}

static void value_note(struct bitstream_walk *w, uint64_t v)
{
	if (w->n_values < BITSTREAM_RECORD_KEPT)
		w->values[w->n_values] = v;
	w->n_values++;
	w->before_last = w->last;
	w->last = v;
}

static bool scalar_walk(struct bitstream_walk *w, const struct abbreviation_operand *op)
{
	enum primitive_role role = w->n_values ? ROLE_VALUE : ROLE_CODE;
	uint64_t v = op->value;
	bool ok = true;

	if (op->kind == ABBREVIATION_FIXED)
		ok = fixed(w, role, (unsigned)op->value, &v);
	else if (op->kind == ABBREVIATION_VBR)
		ok = vbr(w, role, (unsigned)op->value, &v);
	else if (op->kind == ABBREVIATION_CHAR6)
		ok = char6(w, role, &v);
	if (ok)
		value_note(w, v);
	return ok;
}

static bool blob_walk(struct bitstream_walk *w)
{
	uint64_t n, v;

	if (!vbr(w, ROLE_LENGTH, 6, &n) || !w->source->align(w))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		if (!fixed(w, ROLE_BLOB, 8, &v))
			return false;
		value_note(w, v);
	}
	return w->source->align(w);
}

/* Elements that take no bits could be claimed without end. */
static bool element_takes_bits(const struct abbreviation_operand *element)
{
	return element->kind == ABBREVIATION_CHAR6 ||
	       (element->kind != ABBREVIATION_LITERAL && element->value > 0);
}

static bool array_walk(struct bitstream_walk *w, const struct abbreviation_operand *element)
{
	uint64_t n;

	if (!vbr(w, ROLE_LENGTH, 6, &n))
		return false;
	w->in_array = true;
	if (n > 0 && !element_takes_bits(element))
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (!scalar_walk(w, element))
			return false;
	return true;
}

static bool abbreviated_walk(struct bitstream_walk *w, const struct abbreviation *a)
{
	for (unsigned i = 0; i < a->n_operands; i++) {
		if (a->operands[i].kind == ABBREVIATION_BLOB)
			return blob_walk(w);
		if (a->operands[i].kind == ABBREVIATION_ARRAY)
			return array_walk(w, &a->operands[i + 1]);
		if (!scalar_walk(w, &a->operands[i]))
			return false;
	}
	return true;
}

static bool unabbreviated_walk(struct bitstream_walk *w)
{
	uint64_t v, n;

	if (!vbr(w, ROLE_CODE, 6, &v))
		return false;
	value_note(w, v);
	if (!vbr(w, ROLE_LENGTH, 6, &n))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		if (!vbr(w, ROLE_VALUE, 6, &v))
			return false;
		value_note(w, v);
	}
	return true;
}

static bool record_walk(struct bitstream_walk *w)
{
	struct bitstream_block *block = &w->stack[w->depth - 1];
	unsigned i = w->abbreviation_id - ID_RECORD - 1;

	w->n_values = 0;
	w->last = w->before_last = 0;
	w->in_array = false;
	memset(w->values, 0, sizeof(w->values));
	if (w->abbreviation_id == ID_RECORD) {
		if (!unabbreviated_walk(w))
			return false;
	} else if (i >= block->n_abbreviations || !abbreviated_walk(w, block->abbreviations[i])) {
		return false;
	}
	block->last_code = (unsigned)w->values[0];
	if (block->id == BLOCKINFO && w->values[0] == BLOCKINFO_SETBID)
		w->info_block = w->values[1];
	return !w->source->record_end || w->source->record_end(w);
}

static bool block_enter(struct bitstream_walk *w)
{
	struct bitstream_block *block;
	uint64_t id, width;

	if (w->depth == BITSTREAM_MAX_DEPTH || !vbr(w, ROLE_BLOCK_ID, 8, &id) ||
	    !vbr(w, ROLE_BLOCK_WIDTH, 4, &width) || id >= BITSTREAM_MAX_BLOCK_IDS || width < 2 ||
	    width > MAX_WIDTH || !w->source->align(w))
		return false;
	block = &w->stack[w->depth++];
	block->id = (unsigned)id;
	block->width = (unsigned)width;
	block->n_abbreviations = w->n_info[id];
	block->last_code = ~0u;
	memcpy(block->abbreviations, w->info[id], w->n_info[id] * sizeof(block->abbreviations[0]));
	if (id == BLOCKINFO)
		w->info_block = UINT64_MAX;
	return w->source->block_begin(w);
}

/* Blocks nest; a loop rather than recursion, since the stack is in the walk. */
static bool block_walk(struct bitstream_walk *w)
{
	unsigned outermost = w->depth;
	uint64_t id;

	if (!block_enter(w))
		return false;
	while (w->depth > outermost) {
		if (!fixed(w, ROLE_ABBREVIATION_ID, w->stack[w->depth - 1].width, &id))
			return false;
		w->abbreviation_id = (unsigned)id;
		if (id == ID_END) {
			if (!w->source->align(w) || !w->source->block_end(w))
				return false;
			w->depth--;
		} else if (id == ID_ENTER  ? !block_enter(w) :
			   id == ID_DEFINE ? !definition_walk(w) :
					     !record_walk(w)) {
			return false;
		}
	}
	return true;
}

bool bitstream_walk(struct bitstream_walk *w)
{
	uint64_t v;
	bool more;

	if (!fixed(w, ROLE_MAGIC, 32, &v))
		return false;
	for (;;) {
		if (!w->source->more(w, &more))
			return false;
		if (!more)
			return true;
		if (!fixed(w, ROLE_ABBREVIATION_ID, TOP_WIDTH, &v) || v != ID_ENTER || !block_walk(w))
			return false;
	}
}

void bitstream_walk_done(struct bitstream_walk *w)
{
	for (size_t i = 0; i < w->n_owned; i++)
		free(w->owned[i]);
	free(w->owned);
	w->owned = NULL;
	w->n_owned = 0;
}
