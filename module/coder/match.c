/* SPDX-License-Identifier: Apache-2.0 */

#include "module/coder/match.h"

#include <stdlib.h>
#include <string.h>

#include "module/array.h"

#define BYTES_HASHED 5u
#define NUMBERS_HASHED 4u
#define MAX_WRONG 8u /* then the place is given up */
#define MAX_LENGTH 400u
#define MAX_TABLE_BITS 20u
#define MAX_NUMBERS (1u << 23) /* 32 MiB; then all is forgotten */

static bool match_init(struct match *m, size_t volume)
{
	unsigned bits = 10;

	while (bits < MAX_TABLE_BITS && ((size_t)1 << bits) < volume)
		bits++;
	m->mask = (1u << bits) - 1;
	m->table = calloc((size_t)m->mask + 1, sizeof(*m->table));
	return m->table != NULL;
}

unsigned match_trust(const struct match *m)
{
	unsigned length = m->length;

	return length < 8	   ? length :
	       length < 12	   ? 8 :
	       length < 16	   ? 9 :
	       length < 24	   ? 10 :
	       length < 32	   ? 11 :
	       length < 64	   ? 12 :
	       length < 128	   ? 13 :
	       length < MAX_LENGTH ? 14 :
				     15;
}

/* One item was added; was it the one that was expected? */
static void match_follow(struct match *m, bool agreed)
{
	m->n++;
	if (!m->at)
		return;
	m->at++;
	if (agreed) {
		m->length += m->length < MAX_LENGTH;
		m->n_wrong = m->length > 16 ? 0 : m->n_wrong;
		return;
	}
	m->length = 0;
	if (++m->n_wrong > MAX_WRONG)
		m->at = 0;
}

/* @length: how many items before @at are those before the end */
static void match_move(struct match *m, size_t at, unsigned length)
{
	m->at = at;
	m->length = length;
	m->n_wrong = 0;
}

static uint32_t hash_bytes(const uint8_t *end)
{
	uint32_t h = 0;

	for (unsigned i = 1; i <= BYTES_HASHED; i++)
		h = (h + end[-(int)i]) * 0x9e3779b1u;
	return h ^ h >> 15;
}

static void byte_match_look(struct byte_match *b)
{
	struct match *m = &b->match;
	const uint8_t *bytes = b->history.data;
	uint32_t *entry;
	unsigned length = 0;
	size_t at;

	if (m->n < BYTES_HASHED)
		return;
	entry = &m->table[hash_bytes(bytes + m->n) & m->mask];
	at = *entry;
	*entry = (uint32_t)m->n;
	if (!at || m->length >= 16)
		return;
	while (length < 32 && length < at && bytes[at - 1 - length] == bytes[m->n - 1 - length])
		length++;
	if (length >= BYTES_HASHED && length > m->length)
		match_move(m, at, length);
}

bool byte_match_add(struct byte_match *b, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool agreed = b->match.at && b->history.data[b->match.at] == bytes[i];

		buffer_u8(&b->history, bytes[i]);
		if (b->history.bad || b->history.size > UINT32_MAX)
			return false;
		match_follow(&b->match, agreed);
		byte_match_look(b);
	}
	return true;
}

const uint8_t *byte_match_next(const struct byte_match *b, size_t n)
{
	const struct match *m = &b->match;

	return m->at && n <= m->n - m->at ? b->history.data + m->at : NULL;
}

bool byte_match_init(struct byte_match *b, size_t volume)
{
	static const uint8_t nothing[1];

	*b = (struct byte_match){ 0 };
	/* Place 0 stands for none. */
	return match_init(&b->match, volume) && byte_match_add(b, nothing, 1);
}

bool byte_match_know(struct byte_match *b, const void *known, size_t size)
{
	if (!byte_match_add(b, known, size))
		return false;
	b->match.at = 0;
	b->match.length = b->match.n_wrong = 0;
	return true;
}

bool byte_match_copy(const struct byte_match *b, struct byte_match *ret)
{
	size_t size = ((size_t)b->match.mask + 1) * sizeof(*b->match.table);

	*ret = (struct byte_match){ .match = b->match };
	ret->match.table = malloc(size);
	if (!ret->match.table)
		return false;
	memcpy(ret->match.table, b->match.table, size);
	buffer_bytes(&ret->history, b->history.data, b->history.size);
	return !ret->history.bad;
}

void byte_match_done(struct byte_match *b)
{
	free(b->match.table);
	buffer_done(&b->history);
}

/*
 * One item late, so that the entry of the table has arrived from memory by then: @b->slot is of the items
 * before the latest.
 */
static void number_match_look(struct number_match *b)
{
	struct match *m = &b->match;
	const uint32_t *numbers = b->history;
	uint32_t h = 0, *entry = &m->table[b->slot];
	unsigned length = 0;
	size_t at = *entry;

	if (m->n <= NUMBERS_HASHED)
		return;
	*entry = (uint32_t)m->n - 1;
	for (unsigned i = 1; i <= NUMBERS_HASHED; i++)
		h = (h + numbers[m->n - i]) * 0x9e3779b1u;
	b->slot = (h ^ h >> 15) & m->mask;
	__builtin_prefetch(&m->table[b->slot], 1);
	if (!at || m->length >= 16)
		return;
	at++;
	while (length < 32 && length < at && numbers[at - 1 - length] == numbers[m->n - 1 - length])
		length++;
	if (length > NUMBERS_HASHED && length > m->length)
		match_move(m, at, length);
}

bool number_match_add(struct number_match *b, uint64_t number)
{
	bool agreed = b->match.at && b->history[b->match.at] == (uint32_t)number;

	if (b->match.n == MAX_NUMBERS) {
		memset(b->match.table, 0, ((size_t)b->match.mask + 1) * sizeof(*b->match.table));
		b->match = (struct match){ .table = b->match.table, .mask = b->match.mask, .n = 1 };
		b->slot = 0;
		agreed = false;
	}
	if (!array_reserve(b->history, b->match.n, &b->capacity))
		return false;
	b->history[b->match.n] = (uint32_t)number;
	match_follow(&b->match, agreed);
	number_match_look(b);
	return true;
}

bool number_match_next(const struct number_match *b, uint64_t *ret)
{
	const struct match *m = &b->match;

	*ret = m->at ? b->history[m->at] : 0;
	return m->at != 0;
}

bool number_match_init(struct number_match *b, size_t volume)
{
	*b = (struct number_match){ 0 };
	return match_init(&b->match, volume) && number_match_add(b, 0);
}

void number_match_done(struct number_match *b)
{
	free(b->match.table);
	free(b->history);
}
