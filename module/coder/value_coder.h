/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * value_coder.h - numbers to and from few bits, by what is known about them
 *
 * Context mixing: every binary decision of a number is predicted by several adaptive probabilities,
 * one for each context that the caller names; a small online-trained network weighs them; an arithmetic
 * coder spends -log2(p) bits. Sources: Mahoney, "Adaptive Weighing of Context Models for Lossless Data
 * Compression" (Florida Tech CS-2005-16); Witten, Neal, Cleary (CACM 1987). Integer arithmetic only:
 * every machine makes the same bytes. Cost: about 10 decisions a number, each O(contexts).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define VALUE_CONTEXTS 5u
#define VALUE_GUESSES 4u
#define VALUE_KINDS 2048u

/* What is known about a number before it is coded. */
struct value_facts {
	uint32_t contexts[VALUE_CONTEXTS]; /* hashes */
	uint64_t guesses[VALUE_GUESSES];   /* what the number may well be */
	bool is_none[VALUE_GUESSES];	   /* this is no guess */
	unsigned sources[VALUE_GUESSES];   /* kinds of guesses, below VALUE_KINDS: by it each is believed */
	unsigned width;			   /* the number has that many bits at most, if 1 to 8; else 0 */
	unsigned kind;			   /* of number, below VALUE_KINDS: by it weights are chosen */
};

/* One hash of two, for contexts. */
static inline uint32_t hash2(uint32_t a, uint64_t b)
{
	uint32_t h = (a ^ (uint32_t)b ^ (uint32_t)(b >> 32) * 0x9e3779b1u) * 0x01000193u + 0x811c9dc5u;

	return (h ^ h >> 16) * 0x7feb352du;
}

struct value_coder;

/**
 * value_coder_new() - one coder, good for one direction
 * @in:     bytes to decode; NULL: encode
 * @volume: bytes that the numbers take uncompressed, about; must be the same on both sides
 * Return: NULL: no memory.
 */
struct value_coder *value_coder_new(const void *in, size_t size, size_t volume);
void value_coder_free(struct value_coder *coder); /* accepts NULL */
DEFINE_CLEANUP(struct value_coder *, value_coder_free);

/** value_coder_copy() - the like of value_coder_new(), which knows what @trained learnt; NULL: no memory */
struct value_coder *value_coder_copy(const struct value_coder *trained, const void *in, size_t size);

/**
 * value_coder_train() - from here on (@trains), or no longer, numbers are learnt that both sides know already
 * They take no bytes. value_coder_run() is given them, whatever the coder's direction.
 */
void value_coder_train(struct value_coder *coder, bool trains);

/**
 * value_coder_run() - encode *@value, or decode into it
 * Return: false: the input ended long ago, it is damaged (decoding only).
 */
bool value_coder_run(struct value_coder *coder, const struct value_facts *facts, uint64_t *value);

/** value_coder_end() - flush into @ret (encoding only); 0 or -ENOMEM */
int value_coder_end(struct value_coder *coder, struct buffer *ret);
