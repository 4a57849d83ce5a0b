/* SPDX-License-Identifier: Apache-2.0 */

#include "base/range_coder.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"

#define PROBABILITY_BITS 12
#define ONE (1u << PROBABILITY_BITS)
#define LEAST (ONE / 128) /* of either outcome: bounds the decisions of a byte */
#define LOWEST_RANGE (1u << 24)
#define HEAD_BYTES 5

/* How far a probability moves, as a shift, by how often it has. */
static const uint8_t shifts[16] = { 1, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5 };

void range_coder_encode(struct range_coder *ret)
{
	*ret = (struct range_coder){ .range = UINT32_MAX, .n_pending = 1 };
}

void range_coder_decode(struct range_coder *ret, const void *bytes, size_t size)
{
	*ret = (struct range_coder){ .decodes = true, .range = UINT32_MAX, .in = reader_of(bytes, size) };
	for (int i = 0; i < HEAD_BYTES; i++)
		ret->code = ret->code << 8 | reader_u8(&ret->in);
}

void range_models_init(uint16_t *models, size_t n)
{
	if (n)
		models[0] = ONE / 2 << 4;
	for (size_t done = 1; done < n; done *= 2)
		memcpy(models + done, models, MIN(done, n - done) * sizeof(*models));
}

/* The highest byte of `low` is final unless a carry can still come. */
static void byte_out(struct range_coder *c)
{
	bool carry = c->low >> 32;

	if (carry || (uint32_t)c->low < 0xff000000u) {
		for (; c->n_pending; c->n_pending--) {
			buffer_u8(&c->out, (uint8_t)(c->cache + carry));
			c->cache = 0xff;
		}
		c->cache = (uint8_t)(c->low >> 24);
	}
	c->n_pending++;
	c->low = (uint32_t)c->low << 8;
}

/* Once in many decisions; apart, so that the others need not save registers for it. */
static __attribute__((noinline, cold)) void normalize(struct range_coder *c)
{
	do {
		c->range <<= 8;
		if (c->decodes)
			c->code = c->code << 8 | reader_u8(&c->in);
		else
			byte_out(c);
	} while (c->range < LOWEST_RANGE);
}

static inline unsigned decide(struct range_coder *c, uint16_t *model, unsigned value)
{
	unsigned p = *model >> 4, count = *model & 15, shift = shifts[count];
	uint32_t bound = (c->range >> PROBABILITY_BITS) * p;

	if (c->decodes)
		value = c->code >= bound;
	if (value) {
		c->code -= bound;
		c->low += bound;
		c->range -= bound;
		p -= (p - LEAST) >> shift;
	} else {
		c->range = bound;
		p += (ONE - LEAST - p) >> shift;
	}
	*model = (uint16_t)(p << 4 | (count + (count < 15)));
	if (c->range < LOWEST_RANGE)
		normalize(c);
	return value;
}

unsigned range_coder_bit(struct range_coder *c, uint16_t *model, unsigned value)
{
	return c->in.bad ? 0 : decide(c, model, value);
}

unsigned range_coder_tree(struct range_coder *c, uint16_t *models, unsigned n, unsigned value)
{
	unsigned node = 1;

	if (c->in.bad)
		return 0;
	for (unsigned i = n; i--;)
		node = node << 1 | decide(c, &models[node], value >> i & 1);
	return node - (1u << n);
}

uint64_t range_coder_raw(struct range_coder *c, unsigned n, uint64_t value)
{
	uint64_t ret = 0;

	for (unsigned i = n; i-- && !c->in.bad;) {
		unsigned bit = value >> i & 1;

		c->range >>= 1;
		if (c->decodes) {
			bit = c->code >= c->range;
			c->code -= bit ? c->range : 0;
		} else {
			c->low += bit ? c->range : 0;
		}
		ret = ret << 1 | bit;
		if (c->range < LOWEST_RANGE)
			normalize(c);
	}
	return ret;
}

uint64_t range_coder_number(struct range_coder *c, uint16_t *models, uint64_t value)
{
	unsigned length = range_coder_tree(c, models, 7, bit_length(value));

	if (length > 64)
		c->in.bad = true;
	if (length == 0 || c->in.bad)
		return 0;
	return (uint64_t)1 << (length - 1) | range_coder_raw(c, length - 1, value);
}

int range_coder_end(struct range_coder *c, struct buffer *ret)
{
	for (int i = 0; i < HEAD_BYTES; i++)
		byte_out(c);
	buffer_bytes(ret, c->out.data, c->out.size);
	ret->bad |= c->out.bad;
	buffer_done(&c->out);
	return ret->bad ? -ENOMEM : 0;
}

bool range_coder_is_whole(const struct range_coder *c)
{
	return !c->in.bad && reader_left(&c->in) == 0;
}

uint64_t range_coder_budget(const struct range_coder *c)
{
	return c->in.bad ? 0 : ((uint64_t)reader_left(&c->in) + HEAD_BYTES) * RANGE_DECISIONS_PER_BYTE;
}
