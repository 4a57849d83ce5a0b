/* SPDX-License-Identifier: Apache-2.0 */

#include "module/coder/text_model.h"

#include <string.h>

#define SYMBOL_BYTES 24u
#define SECTION_BYTES 64u
#define HEADER_BYTES 64u
#define OBJECT_MAGIC 0x7f454c46u /* "\x7fELF" */
#define GUESS_BYTE 0u
#define GUESS_SYMBOL 1u
#define GUESS_SECTION 2u

bool text_model_init(struct text_model *m, size_t volume)
{
	*m = (struct text_model){ 0 };
	return byte_match_init(&m->match, volume);
}

bool text_model_copy(const struct text_model *m, struct text_model *ret)
{
	*ret = *m;
	return byte_match_copy(&m->match, &ret->match);
}

void text_model_done(struct text_model *m)
{
	byte_match_done(&m->match);
}

static uint8_t byte_before(const struct text_model *m, size_t n)
{
	return n <= m->match.history.size ? m->match.history.data[m->match.history.size - n] : 0;
}

static void guess(struct value_facts *ret, unsigned i, uint8_t byte, unsigned source)
{
	ret->guesses[i] = byte;
	ret->is_none[i] = false;
	ret->sources[i] = source;
}

static void contexts_make(const struct text_model *m, uint32_t base, size_t at, struct value_facts *ret)
{
	uint32_t symbol = byte_before(m, SYMBOL_BYTES), section = byte_before(m, SECTION_BYTES);

	ret->contexts[0] =
		hash2(hash2(base, m->recent & 0xff), at < HEADER_BYTES ? at : HEADER_BYTES + at % 8);
	ret->contexts[1] = hash2(hash2(base, 2), m->recent & 0xffff);
	ret->contexts[2] = hash2(hash2(base, 3), m->recent & 0xffffff);
	ret->contexts[3] = hash2(hash2(base, 4), m->recent & 0xffffffff);
	ret->contexts[4] = at == SIZE_MAX ? hash2(hash2(base, 5), m->word) :
					    hash2(hash2(hash2(base, 6), symbol << 8 | section), at % 8);
}

static bool byte_note(struct text_model *m, uint8_t byte)
{
	bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');

	m->recent = m->recent << 8 | byte;
	m->word = is_letter ? hash2(m->word, byte) : 0;
	if (!byte_match_add(&m->match, &byte, 1))
		return false;
	if ((m->recent & 0xffffffff) == OBJECT_MAGIC)
		m->object = m->match.history.size;
	return true;
}

bool text_model_code(struct text_model *m, struct value_coder *coder, unsigned kind, uint8_t *byte)
{
	size_t at = m->object ? m->match.history.size - m->object + 4 : SIZE_MAX;
	const uint8_t *next = byte_match_next(&m->match, 1);
	unsigned trust = match_trust(&m->match.match), where = kind * 2 + (at != SIZE_MAX);
	struct value_facts facts = { .width = 8, .is_none = { true, true, true, true } };
	uint64_t v = *byte;

	contexts_make(m, hash2(0x7e87, kind), kind ? SIZE_MAX : at, &facts);
	if (next)
		guess(&facts, GUESS_BYTE, *next, trust + where * MATCH_TRUST);
	if (at != SIZE_MAX && !kind) {
		guess(&facts, GUESS_SYMBOL, byte_before(m, SYMBOL_BYTES), 128 + (unsigned)at % 8);
		guess(&facts, GUESS_SECTION, byte_before(m, SECTION_BYTES), 128 + (unsigned)at % 8);
	}
	facts.kind = (next ? 1 + trust : 0) + where * (MATCH_TRUST + 1);
	if (!value_coder_run(coder, &facts, &v))
		return false;
	*byte = (uint8_t)v;
	return byte_note(m, *byte);
}
