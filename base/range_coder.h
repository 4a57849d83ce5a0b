/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * range_coder.h - decisions to and from few bits, by how they went before
 *
 * A binary range coder as in LZMA. A model is the probability of one decision under one circumstance and learns
 * from each; the same calls in the same order write and read, so a format is one function for both
 * (range_coder.decodes tells which). Sources: Martin, "Range encoding" (1979); Pavlov, LZMA specification (2015).
 *
 * In its 16 bits are the probability of a 0 in 1/4096, and how often it has learned: what is new learns fast.
 *
 * Cost: about 15 instructions a decision. No model promises more than 127/128, so a byte of input is at most
 * RANGE_DECISIONS_PER_BYTE decisions, whatever it says: readers hold what they allocate against that.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define RANGE_DECISIONS_PER_BYTE 710u /* 8 / log2(128 / 127), and a little for rounding */
#define RANGE_NUMBER_MODELS 128u

struct range_coder {
	bool decodes;
	uint32_t range;
	/* decoding */
	uint32_t code;
	struct reader in; /* `bad` once it was read beyond its end; then every decision is 0 */
	/* encoding */
	uint64_t low;
	uint64_t n_pending; /* bytes that a carry may still change: `cache`, then 0xff */
	uint8_t cache;
	struct buffer out; /* owned; range_coder_end() or buffer_done() */
};

void range_coder_encode(struct range_coder *ret);
void range_coder_decode(struct range_coder *ret, const void *bytes, size_t size);
/** range_models_init() - nothing is known: one half */
void range_models_init(uint16_t *models, size_t n);

/* Each codes @value, or reads and returns it (then @value is ignored). */
unsigned range_coder_bit(struct range_coder *coder, uint16_t *model, unsigned value);
/** range_coder_tree() - @n bits, 1 to 16, high one first; 1 << @n models */
unsigned range_coder_tree(struct range_coder *coder, uint16_t *models, unsigned n, unsigned value);
/** range_coder_raw() - @n bits, 0 to 64, of which nothing is known: a bit for each */
uint64_t range_coder_raw(struct range_coder *coder, unsigned n, uint64_t value);
/** range_coder_number() - length by models, the bits below the highest raw; RANGE_NUMBER_MODELS models */
uint64_t range_coder_number(struct range_coder *coder, uint16_t *models, uint64_t value);

/** range_coder_end() - encoding: the rest, and all of it appended to @ret; 0 or -ENOMEM */
int range_coder_end(struct range_coder *coder, struct buffer *ret);
/** range_coder_is_whole() - decoding: was every byte used, and none more? */
bool range_coder_is_whole(const struct range_coder *coder);
/** range_coder_budget() - decoding: how many decisions the bytes that are left can be, at most */
uint64_t range_coder_budget(const struct range_coder *coder);

/** bit_length() - of @v: 0 for 0, else 1 more than the number of the highest bit */
static inline unsigned bit_length(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}
