/* SPDX-License-Identifier: Apache-2.0 */

/*
 * For every field: contexts, by which probabilities are looked up, and guesses, what it may well be.
 *
 *	entries and codes	by the kinds of records before
 *	texts			as characters, whatever their width in bits: by those before; guess: what followed
 *				them in the prior or in an earlier text
 *	constant data		guess: the bytes that follow in the prior
 *	constant integers	guess: the GUID or hash that follows in the prior
 *	operands		guesses: the same value as before, the nearest that nothing has used
 *	callees			by number rather than counted back
 *	numbers of basic blocks	as differences to the current one
 *	attachments		guesses: the next instruction that can have one
 *	everything		guess: what followed the latest fields when they stood like this before
 */

#include "module/bitcode_model.h"

#include <stdlib.h>
#include <string.h>

#include "module/bitcode_guess.h"

/* ---- forms ---- */

static const char char6[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";

static uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ -(v >> 63);
}

uint64_t field_code(const struct field *f, uint64_t value)
{
	switch (f->form) {
	case FIELD_DELTA: return zigzag(value - f->base);
	case FIELD_BACKWARD: return f->base - value;
	case FIELD_CHAR6: return (uint8_t)char6[value & 63];
	case FIELD_PLAIN: break;
	}
	return value;
}

bool field_value(const struct field *f, uint64_t code, uint64_t *ret)
{
	const char *found;

	switch (f->form) {
	case FIELD_DELTA: *ret = f->base + (code >> 1 ^ -(code & 1)); return true;
	case FIELD_BACKWARD: *ret = f->base - code; return true;
	case FIELD_CHAR6:
		found = memchr(char6, (int)code, sizeof(char6) - 1);
		*ret = found ? (uint64_t)(found - char6) : 0;
		return found != NULL;
	case FIELD_PLAIN: break;
	}
	*ret = code;
	return true;
}

/* ---- GUIDs and hashes ---- */

static size_t number_slot(const struct bitcode_model *m, uint64_t number)
{
	size_t slot = (size_t)(number * 0x9e3779b97f4a7c15u >> 32) & (m->n_number_slots - 1);

	while (m->number_slots[slot] && m->numbers[m->number_slots[slot] - 1] != number)
		slot = (slot + 1) & (m->n_number_slots - 1);
	return slot;
}

/* Constant integers have their sign in bit 0. */
static uint64_t integer_of(uint64_t field)
{
	return field & 1 ? -(field >> 1) : field >> 1;
}

static bool numbers_take(struct bitcode_model *m, const struct bitcode_prior *prior)
{
	size_t n = prior ? prior->n_numbers : 0;

	for (m->n_number_slots = NUMBER_SLOTS_MIN; m->n_number_slots < 2 * n;)
		m->n_number_slots *= 2;
	free(m->numbers);
	free(m->number_slots);
	m->n_numbers = m->number_next = 0;
	m->numbers = calloc(n + 1, sizeof(*m->numbers));
	m->number_slots = calloc(m->n_number_slots, sizeof(*m->number_slots));
	if (!m->numbers || !m->number_slots)
		return false;
	for (; m->n_numbers < n && m->n_numbers < UINT32_MAX - 1; m->n_numbers++) {
		m->numbers[m->n_numbers] = prior->numbers[m->n_numbers];
		m->number_slots[number_slot(m, m->numbers[m->n_numbers])] = (uint32_t)m->n_numbers + 1;
	}
	return true;
}

static void integer_note(struct bitcode_model *m, uint64_t field)
{
	uint32_t found = m->number_slots[number_slot(m, integer_of(field))];

	if (found)
		m->number_next = found;
}

/* ---- texts ---- */

static bool is_text(const struct bitstream_walk *w, const struct field *f)
{
	unsigned block = block_of(w), code = code_of(w);

	if (f->role == ROLE_BLOB)
		return true;
	if (f->role != ROLE_VALUE || !w->in_array || !f->is_fixed)
		return false;
	if (block == BLOCK_CONSTANTS)
		return code == CONSTANT_STRING || code == CONSTANT_CSTRING;
	return w->is_char6 || ((f->width == 7 || f->width == 8) && block != BLOCK_FUNCTION &&
			       (block != BLOCK_TYPES || code == 19));
}

static bool text_note(struct bitcode_model *m, uint8_t c)
{
	m->text = m->text << 8 | c;
	return byte_match_add(&m->texts, &c, 1);
}

static bool data_note(struct bitcode_model *m, uint64_t value, unsigned n)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < n; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	return byte_match_add(&m->texts, bytes, n);
}

static void text_facts(const struct bitcode_model *m, const struct bitstream_walk *w, struct field *f,
		       struct value_facts *ret)
{
	uint32_t base = hash2(0x7e87, block_of(w) == BLOCK_CONSTANTS);
	uint64_t start = w->n_values < 2 ? 1 : 0;

	f->form = w->is_char6 ? FIELD_CHAR6 : FIELD_PLAIN;
	ret->contexts[0] = hash2(base, m->text & 0xff);
	ret->contexts[1] = hash2(base, m->text & 0xffff);
	ret->contexts[2] = hash2(base, m->text & 0xffffff);
	ret->contexts[3] = hash2(hash2(base, 4), m->text & 0xffffffff);
	ret->contexts[4] = hash2(hash2(hash2(base, 5), block_of(w)), start << 8 | code_of(w));
	bytes_guess(m, 1, ret);
	ret->is_none[1] = ret->is_none[2] = true;
	ret->width = f->is_fixed && !w->is_char6 ? f->width : 8;
	ret->kind = 16 + match_trust(&m->texts.match) + (start ? MATCH_TRUST : 0);
}

/* ---- what comes next in a block ---- */

static void order_facts(const struct bitcode_model *m, const struct bitstream_walk *w, const struct field *f,
			struct value_facts *ret)
{
	uint32_t base = hash2(hash2(f->role, block_of(w)), f->role == ROLE_CODE ? 0 : f->width);
	uint32_t one = hash2(base, m->codes[0]), two = hash2(one, m->codes[1]);
	const struct function_state *s = &m->function;
	uint64_t unused = block_of(w) == BLOCK_FUNCTION ? value_unused(s, 0) : 0;
	uint64_t second = unused ? value_unused(s, unused) : 0;

	ret->contexts[0] = hash2(two, m->codes[2]);
	ret->contexts[1] = hash2(hash2(one, w->values[1]), 2);
	ret->contexts[2] = hash2(hash2(two, w->values[3]), 3);
	ret->contexts[3] = hash2(hash2(two, w->values[2]), 6);
	ret->contexts[4] = hash2(hash2(hash2(one, unused), second), value_detail(s, s->next - 1));
	ret->is_none[0] = ret->is_none[1] = ret->is_none[2] = true;
}

/* Contexts of a value: its neighbours, the same place in the latest record of its kind, the kinds of records before. */
static void value_contexts(const struct bitcode_model *m, const struct bitstream_walk *w, uint32_t base,
			   uint64_t before, struct value_facts *ret)
{
	const struct function_state *s = &m->function;
	unsigned block = block_of(w);
	uint32_t detail = 0;

	ret->contexts[0] = hash2(hash2(base, w->last), 1);
	ret->contexts[1] = hash2(hash2(base, before), 2);
	ret->contexts[2] = hash2(hash2(hash2(base, m->codes[0]), value_detail(s, s->next - 1)),
				 value_detail(s, s->next - 2));
	ret->contexts[3] = hash2(hash2(base, m->codes[0]), m->codes[1]);
	ret->contexts[4] = hash2(hash2(hash2(base, w->last), w->before_last), 4);
	if (block == BLOCK_FUNCTION)
		detail = base_detail(m, w);
	if (detail)
		ret->contexts[2] = hash2(hash2(hash2(base, detail), w->n_values > 2 ? w->last : 0), 8);
	if (block == BLOCK_FUNCTION && operand_is_here(w)) {
		uint64_t unused = value_unused(s, 0);

		ret->contexts[4] = hash2(hash2(hash2(base, unused), value_detail(s, s->next - unused)),
					 s->codes[(s->next - 1) % VALUES_KEPT]);
		if (is_call(w) && w->n_values > call_type_place(w) + 1)
			ret->contexts[2] = hash2(hash2(base, s->next - w->values[call_type_place(w) + 1]), 5);
	}
	if (block == BLOCK_USELIST) {
		uint64_t left = m->length - w->n_values;

		base = hash2(hash2(base, left < 8 ? left : 8), left == 0);
		ret->contexts[1] = hash2(base, w->last);
		ret->contexts[2] = hash2(hash2(hash2(base, w->last), w->before_last), m->third);
		ret->contexts[3] = hash2(hash2(base, m->length), w->last);
		ret->contexts[4] = hash2(hash2(base, m->length), w->n_values);
	}
	if (block == BLOCK_METADATA)
		ret->contexts[2] =
			hash2(hash2(hash2(base, m->n_metadata - w->last), w->n_values == m->length), 7);
	if (block == BLOCK_ATTACHMENT) {
		uint64_t of = w->n_values == 1 ? ret->guesses[2] : w->values[1];
		uint32_t what = of < s->n_instructions ? s->instructions[of] : 63;

		ret->contexts[4] = hash2(hash2(hash2(base, what), w->n_values > 1 ? w->last : 0), 6);
	}
}

static void value_facts(struct bitcode_model *m, const struct bitstream_walk *w, struct field *f,
			struct value_facts *ret)
{
	unsigned block = block_of(w), code = code_of(w);
	unsigned place = w->n_values < 24 ? (unsigned)w->n_values : 24 + (unsigned)(w->n_values & 1);
	const struct history *h = &m->histories[block][code];
	uint64_t before = w->n_values < BITSTREAM_RECORD_KEPT ? h->values[w->n_values] : h->n_values;
	uint32_t base =
		f->role == ROLE_DEFINITION ?
			hash2(hash2(f->role, block), f->width) :
			hash2(hash2(hash2(f->role, block), w->n_values ? code : w->abbreviation_id), place);

	if (f->role == ROLE_LENGTH) {
		guess(ret, 0, h->length);
		ret->is_none[1] = ret->is_none[2] = true;
		value_contexts(m, w, base, before, ret);
	} else if (is_call(w) && w->n_values == call_type_place(w) + 1) {
		callee_facts(m, w, f, ret);
	} else {
		value_guesses(m, w, f, h, before, ret);
		value_contexts(m, w, base, before, ret);
	}
}

void bitcode_model_facts(struct bitcode_model *m, const struct bitstream_walk *w, struct field *f,
			 struct value_facts *ret)
{
	unsigned block = block_of(w), trust = match_trust(&m->repeats.match);
	uint32_t what = hash2(hash2(f->role, block), f->role == ROLE_VALUE ? code_of(w) : 0);

	memset(ret, 0, sizeof(*ret));
	f->form = FIELD_PLAIN;
	if (block == BLOCK_FUNCTION && f->role == ROLE_VALUE && w->values[0] == INST_CALL && w->n_values > 4)
		what = hash2(what, w->values[call_type_place(w)]);
	what = hash2(what, f->role != ROLE_VALUE ? 0 :
			   w->n_values < 24	 ? w->n_values :
						   24 + (w->n_values & 1));
	for (unsigned g = 0; g < VALUE_GUESSES; g++)
		ret->sources[g] = 128 + (what >> 8) % (VALUE_KINDS - 128);
	ret->is_none[GUESS_MATCH] = !number_match_next(&m->repeats, &ret->guesses[GUESS_MATCH]);
	ret->sources[GUESS_MATCH] = trust + (f->role == ROLE_VALUE) * MATCH_TRUST;
	ret->kind = 128 + (hash2(what, (trust > 0) + (trust > 9)) >> 8) % (VALUE_KINDS - 128);
	ret->width = f->is_fixed && f->width <= 8 ? f->width : 0;
	if (is_text(w, f))
		text_facts(m, w, f, ret);
	else if (f->role == ROLE_ABBREVIATION_ID || f->role == ROLE_CODE)
		order_facts(m, w, f, ret);
	else
		value_facts(m, w, f, ret);
	if (f->form == FIELD_PLAIN)
		return;
	if (f->form != FIELD_CHAR6)
		ret->width = 0;
	/* Guesses at texts are characters already, but for what stood in a field. */
	for (unsigned g = f->form == FIELD_CHAR6 ? GUESS_MATCH : 0; g < VALUE_GUESSES; g++)
		ret->guesses[g] = field_code(f, ret->guesses[g]);
}

bool bitcode_model_note(struct bitcode_model *m, const struct bitstream_walk *w, const struct field *f,
			uint64_t v)
{
	unsigned bytes = data_bytes(m, w, f);

	if (f->role == ROLE_VALUE || f->role == ROLE_BLOB)
		m->third = w->before_last;
	if (f->role == ROLE_LENGTH)
		m->length = v;
	if (is_text(w, f) && !text_note(m, (uint8_t)field_code(f, v)))
		return false;
	if (bytes && !data_note(m, v, bytes))
		return false;
	if (f->role == ROLE_VALUE && block_of(w) == BLOCK_CONSTANTS && code_of(w) == CONSTANT_INTEGER)
		integer_note(m, v);
	if (f->role == ROLE_VALUE && block_of(w) == BLOCK_FUNCTION && operand_is_here(w))
		hint_note(m, w, v);
	if (f->role == ROLE_VALUE && block_of(w) == BLOCK_USELIST && v < PERMUTED)
		m->permuted[v / 64] |= 1ull << v % 64;
	return number_match_add(&m->repeats, v);
}

bool bitcode_model_record(struct bitcode_model *m, const struct bitstream_walk *w)
{
	unsigned block = block_of(w), code = code_of(w);

	history_note(&m->histories[block][code], m, w);
	if (is_call(w))
		call_note(m, w);
	if (block == BLOCK_METADATA)
		metadata_note(m, w);
	if (block == BLOCK_PARAMATTR)
		for (unsigned i = 1; i < BITSTREAM_RECORD_KEPT; i++)
			m->group_max = w->values[i] > m->group_max ? w->values[i] : m->group_max;
	if (block == BLOCK_MODULE &&
	    (code == MODULE_GLOBAL || code == MODULE_FUNCTION || code == 14 || code == 15))
		m->names_end = w->values[1] + w->values[2];
	if (!function_record(&m->function, w, block, parent_of(w)))
		return false;
	m->codes[2] = m->codes[1];
	m->codes[1] = m->codes[0];
	m->codes[0] = (unsigned)w->values[0];
	return true;
}

void bitcode_model_begin(struct bitcode_model *m)
{
	m->codes[0] = m->codes[1] = m->codes[2] = 0;
	m->callees[0] = m->callees[1] = 0;
	m->names_end = m->group_max = m->n_metadata = m->n_strings = m->string_max = 0;
	if (m->has_hints)
		memset(m->hints, 0, sizeof(m->hints));
	m->has_hints = false;
	function_module_begin(&m->function);
}

void bitcode_model_enter(struct bitcode_model *m, const struct bitstream_walk *w)
{
	function_enter(&m->function, block_of(w), parent_of(w));
}

void bitcode_model_free(struct bitcode_model *m)
{
	if (!m)
		return;
	byte_match_done(&m->texts);
	number_match_done(&m->repeats);
	function_state_done(&m->function);
	free(m->numbers);
	free(m->number_slots);
	free(m);
}

struct bitcode_model *bitcode_model_new(size_t texts, size_t volume)
{
	_clean_(bitcode_model_freep) struct bitcode_model *m = calloc(1, sizeof(*m));

	if (!m || !byte_match_init(&m->texts, texts) || !number_match_init(&m->repeats, volume) ||
	    !numbers_take(m, NULL))
		return NULL;
	return TAKE(m);
}

bool bitcode_model_know(struct bitcode_model *m, const struct bitcode_prior *prior)
{
	return !prior ||
	       (byte_match_know(&m->texts, prior->bytes.data, prior->bytes.size) && numbers_take(m, prior));
}
