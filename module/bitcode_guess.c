/* SPDX-License-Identifier: Apache-2.0 */

/* What a value may well be, by the record that it stands in; bitcode_model.c says how it is used. */

#include "module/bitcode_guess.h"

#include <string.h>

/* The bytes of an element of constant data, 0: none. */
unsigned data_bytes(const struct bitcode_model *m, const struct bitstream_walk *w, const struct field *f)
{
	const struct function_state *s = &m->function;

	return f->role == ROLE_VALUE && block_of(w) == BLOCK_CONSTANTS && code_of(w) == CONSTANT_DATA &&
			       s->type < s->n_types ?
		       s->types[s->type].bytes :
		       0;
}

void bytes_guess(const struct bitcode_model *m, unsigned n, struct value_facts *ret)
{
	const uint8_t *next = byte_match_next(&m->texts, n);

	ret->is_none[0] = !next;
	ret->sources[0] = 32 + match_trust(&m->texts.match) + (n > 1) * MATCH_TRUST;
	for (unsigned i = 0; next && i < n; i++)
		ret->guesses[0] |= (uint64_t)next[i] << 8 * i;
}

static uint64_t integer_field(uint64_t v)
{
	return v >> 63 ? -v << 1 | 1 : v << 1;
}

static void constant_guesses(const struct bitcode_model *m, const struct bitstream_walk *w,
			     const struct field *f, uint64_t before, struct value_facts *ret)
{
	unsigned bytes = data_bytes(m, w, f);

	if (bytes) {
		guess(ret, 1, w->last);
		guess(ret, 2, 2 * w->last - w->before_last);
		bytes_guess(m, bytes, ret);
		return;
	}
	guess(ret, 0, before);
	guess(ret, 1, before + 2);
	guess(ret, 2, before - 2);
	if (code_of(w) == CONSTANT_INTEGER) {
		uint64_t next = before + 2;

		for (unsigned i = 0; i < 64 && integer_is_known(&m->function, next); i++)
			next += 2;
		guess(ret, 1, next);
		if (m->number_next < m->n_numbers)
			guess(ret, 0, integer_field(m->numbers[m->number_next]));
	} else if (code_of(w) == CONSTANT_AGGREGATE) {
		guess(ret, 1, w->last + 1);
		guess(ret, 2, before + 1);
	}
}

void history_note(struct history *h, const struct bitcode_model *m, const struct bitstream_walk *w)
{
	memcpy(h->values, w->values, sizeof(h->values));
	h->n_values = w->n_values;
	h->length = m->length;
	h->number = m->function.next;
	h->last = w->last;
	h->metadata = m->n_metadata;
}

static struct call *call_of(struct bitcode_model *m, const struct bitstream_walk *w)
{
	unsigned callee = call_type_place(w) + 1;

	return &m->calls[(m->function.next - w->values[callee % BITSTREAM_RECORD_KEPT]) % CALLEES];
}

/* Arguments: what the latest call of this callee had, as a constant or as a value, and the constant one larger. */
static void argument_guesses(struct bitcode_model *m, const struct bitstream_walk *w, struct value_facts *ret)
{
	const struct function_state *s = &m->function;
	const struct call *call = call_of(m, w);
	const struct integer *was = &call->arguments[w->n_values], *same, *next;

	guess(ret, 0, call->record.values[w->n_values] + s->next - call->record.number);
	guess(ret, 2, ret->guesses[0] - 1);
	if (!was->id)
		return;
	same = integer_find(s, was->field, was->type);
	next = integer_find(s, was->field + 2, was->type);
	if (same)
		guess(ret, 0, s->next - same->id);
	if (next)
		guess(ret, 2, s->next - next->id);
}

void call_note(struct bitcode_model *m, const struct bitstream_walk *w)
{
	struct call *call = call_of(m, w);
	uint64_t n = w->n_values < BITSTREAM_RECORD_KEPT ? w->n_values : BITSTREAM_RECORD_KEPT;

	history_note(&call->record, m, w);
	for (uint64_t i = call_type_place(w) + 2; i < n; i++) {
		const struct integer *found = integer_of_value(&m->function, m->function.next - w->values[i]);

		call->arguments[i] = found ? *found : (struct integer){ 0 };
	}
	m->callees[1] = m->callees[0];
	m->callees[0] = m->function.next - w->values[(call_type_place(w) + 1) % BITSTREAM_RECORD_KEPT];
}

/* Of an instruction's first operand, or an address's base, once it is known. */
uint32_t base_detail(const struct bitcode_model *m, const struct bitstream_walk *w)
{
	unsigned place = w->values[0] == INST_GEP ? 3 : 1;

	return w->n_values > place && operand_at(w->values[0], place) ?
		       value_detail(&m->function, m->function.next - w->values[place]) :
		       0;
}

static struct hint *hint_of(struct bitcode_model *m, const struct bitstream_walk *w)
{
	uint32_t h = hash2(w->values[0], w->n_values);

	if (w->values[0] == INST_GEP)
		h = hash2(hash2(hash2(hash2(43, w->n_values), w->values[2]), base_detail(m, w)),
			  w->n_values > 4 ? w->last : 0);
	else if (w->n_values > 1)
		h = hash2(h, base_detail(m, w));
	return &m->hints[h >> 8 & (HINTS - 1)];
}

static bool hint_guess(struct bitcode_model *m, const struct bitstream_walk *w, uint64_t *ret)
{
	const struct hint *hint = hint_of(m, w);
	const struct integer *same;

	*ret = hint->is_global ? m->function.next - hint->value : hint->value;
	if (!hint->integer.id)
		return hint->value != 0;
	same = integer_find(&m->function, hint->integer.field, hint->integer.type);
	*ret = same ? m->function.next - same->id : 0;
	return same != NULL;
}

void hint_note(struct bitcode_model *m, const struct bitstream_walk *w, uint64_t back)
{
	uint64_t id = m->function.next - back;
	const struct integer *integer = integer_of_value(&m->function, id);
	struct hint *hint = hint_of(m, w);

	m->has_hints = true;
	*hint = (struct hint){ .value = back };
	if (integer)
		hint->integer = *integer;
	if (id < m->function.n_globals) {
		hint->is_global = true;
		hint->value = id;
	}
}

static void operand_guesses(struct bitcode_model *m, const struct bitstream_walk *w, const struct history *h,
			    uint64_t before, struct value_facts *ret)
{
	const struct function_state *s = &m->function;
	size_t i = w->n_values;
	uint64_t hint;

	guess(ret, 0, before);
	if (hint_guess(m, w, &hint))
		guess(ret, 0, hint);
	guess(ret, 1, before + s->next - h->number);
	if (is_call(w) && i > call_type_place(w) + 1 && i < BITSTREAM_RECORD_KEPT) {
		argument_guesses(m, w, ret);
	} else {
		uint64_t unused = value_unused(s, 0);

		guess(ret, 2, unused);
		ret->is_none[2] = !unused;
	}
}

void callee_facts(const struct bitcode_model *m, const struct bitstream_walk *w, struct field *f,
		  struct value_facts *ret)
{
	uint32_t base = hash2(0xca11, w->last);

	f->form = FIELD_BACKWARD;
	f->base = m->function.next;
	ret->contexts[0] = base;
	ret->contexts[1] = hash2(base, m->callees[0]);
	ret->contexts[2] = hash2(hash2(base, m->callees[0]), m->callees[1]);
	ret->contexts[3] = hash2(hash2(hash2(base, m->codes[0]), m->codes[1]), 1);
	ret->contexts[4] = hash2(hash2(base, w->values[1]), 2);
	guess(ret, 0, f->base - m->callees[0]);
	guess(ret, 1, f->base - m->callees[1]);
	guess(ret, 2, value_unused(&m->function, 0));
	ret->is_none[2] = !ret->guesses[2];
}

static void block_guesses(const struct bitcode_model *m, const struct bitstream_walk *w, struct field *f,
			  uint64_t before, struct value_facts *ret)
{
	const struct function_state *s = &m->function;

	f->form = FIELD_DELTA;
	f->base = s->block;
	guess(ret, 0, before);
	guess(ret, 1, s->n_named + 1);
	guess(ret, 2, w->values[0] == INST_BR ? s->block + 1 : w->n_values > 2 ? w->before_last : s->n_named);
}

static void attachment_guesses(const struct bitcode_model *m, uint64_t before, struct value_facts *ret)
{
	const struct function_state *s = &m->function;

	guess(ret, 0, before);
	guess(ret, 1, instruction_with(s, before + 1, 1ull << INST_LOAD | 1ull << INST_STORE));
	guess(ret, 2,
	      instruction_with(s, before + 1,
			       1ull << INST_LOAD | 1ull << INST_STORE | 1ull << INST_CALL | 1ull << INST_BR |
				       1ull << INST_SWITCH));
}

static void permuted_guess(const struct bitcode_model *m, struct value_facts *ret, unsigned i, uint64_t v)
{
	guess(ret, i, v);
	ret->is_none[i] = v >= m->length - 1 || (v < PERMUTED && m->permuted[v / 64] >> v % 64 & 1);
}

static uint64_t permuted_first(const struct bitcode_model *m)
{
	for (size_t i = 0; i < PERMUTED / 64; i++)
		if (~m->permuted[i])
			return i * 64 + (uint64_t)__builtin_ctzll(~m->permuted[i]);
	return PERMUTED;
}

/* The order of the uses of a value, every index once, then its number; the values come from high to low. */
static void uses_guesses(struct bitcode_model *m, const struct bitstream_walk *w, struct field *f,
			 const struct history *h, struct value_facts *ret)
{
	uint64_t left = m->length - w->n_values;
	bool is_first = w->n_values == 1, is_block = w->values[0] == 2;

	if (is_first)
		memset(m->permuted, 0, sizeof(m->permuted));
	for (unsigned g = 0; g < GUESS_MATCH; g++)
		ret->sources[g] = 128 + (hash2(hash2(0x05e5, left < 12 ? left : 12), is_first) >> 8) %
						(VALUE_KINDS - 128);
	if (left == 0) {
		f->form = FIELD_DELTA;
		f->base = h->last;
		guess(ret, 0, h->last);
		guess(ret, 1, value_with_uses(&m->function, h->last, m->length - 1, is_block));
		guess(ret, 2, value_with_uses(&m->function, ret->guesses[1], m->length - 1, is_block));
		return;
	}
	permuted_guess(m, ret, 0, is_first ? m->length - 2 : w->last - 1);
	permuted_guess(m, ret, 1, is_first ? 1 : w->last + 1);
	permuted_guess(m, ret, 2, permuted_first(m));
}

static void metadata_guesses(const struct bitcode_model *m, const struct bitstream_walk *w,
			     const struct history *h, uint64_t before, struct value_facts *ret)
{
	guess(ret, 0, before + m->n_metadata - h->metadata);
	guess(ret, 1, m->string_max + 1);
	guess(ret, 2, w->n_values == 1 && code_of(w) == 2 ? w->last : m->n_metadata);
}

void value_guesses(struct bitcode_model *m, const struct bitstream_walk *w, struct field *f,
		   const struct history *h, uint64_t before, struct value_facts *ret)
{
	unsigned block = block_of(w);
	size_t i = w->n_values;

	if (block == BLOCK_CONSTANTS) {
		constant_guesses(m, w, f, before, ret);
		return;
	}
	if (block == BLOCK_FUNCTION && operand_is_here(w)) {
		operand_guesses(m, w, h, before, ret);
		return;
	}
	if (block == BLOCK_FUNCTION && block_is_here(w)) {
		block_guesses(m, w, f, before, ret);
		return;
	}
	if (block == BLOCK_USELIST) {
		uses_guesses(m, w, f, h, ret);
		return;
	}
	if (block == BLOCK_ATTACHMENT && i == 1) {
		attachment_guesses(m, before, ret);
		return;
	}
	guess(ret, 0, before);
	guess(ret, 1, w->last + 1);
	guess(ret, 2, i > 1 ? before + w->values[1] - h->values[1] : before + 1);
	if (block == BLOCK_FUNCTION)
		guess(ret, 1, before + m->function.next - h->number);
	if (block == BLOCK_MODULE && i == 1)
		guess(ret, 1, m->names_end);
	if (block == BLOCK_PARAMATTR)
		guess(ret, 2, m->group_max + 1);
	if (block == BLOCK_METADATA)
		metadata_guesses(m, w, h, before, ret);
}

void metadata_note(struct bitcode_model *m, const struct bitstream_walk *w)
{
	switch (w->values[0]) {
	case 35:
		m->n_strings = m->n_metadata = w->values[1];
		m->string_max = 0;
		return;
	case 1:
	case 4:
	case 6:
	case 10:
	case 36:
	case 38:
	case 39: return; /* names and kinds, index */
	default: break;
	}
	m->n_metadata++;
	for (unsigned i = 1; i < BITSTREAM_RECORD_KEPT; i++)
		if (w->values[i] <= m->n_strings && w->values[i] > m->string_max)
			m->string_max = w->values[i];
}
