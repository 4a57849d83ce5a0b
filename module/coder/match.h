/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * match.h - what followed the last time that the same stood before
 *
 * A history of items, and a table that finds in it where the latest few items stood before. What follows
 * there is a guess at what comes next; how long the two have agreed says how much it is worth. After a
 * disagreement the same place is followed for a while: what was written twice often differs in one item.
 * Source: the match model of Mahoney's PAQ and lpaq. Cost: O(1) an item, 4 bytes of table an item.
 *
 * Two kinds: of bytes (texts and constant data, after what is known before), of numbers (all fields).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define MATCH_TRUST 16u /* levels of match_trust() */

struct match {
	uint32_t *table; /* owned; by hash of the latest items: where the next stood */
	uint32_t mask;
	size_t n;	  /* items of the history */
	size_t at;	  /* the place in the history that is followed; 0: none */
	unsigned length;  /* items that agreed there */
	unsigned n_wrong; /* of the latest ones */
};

struct byte_match {
	struct match match;
	struct buffer history; /* owned */
};

struct number_match {
	struct match match;
	uint32_t *history; /* owned; low halves */
	uint32_t slot;
	size_t capacity;
};

/** byte_match_init() - @volume: bytes that will be added, at most about; false: no memory */
bool byte_match_init(struct byte_match *match, size_t volume);
/** byte_match_know() - what may come again, but does not go on where it ends; false: no memory */
bool byte_match_know(struct byte_match *match, const void *known, size_t size);
/** byte_match_copy() - another of its own; false: no memory, and @ret is to be given to byte_match_done() */
bool byte_match_copy(const struct byte_match *match, struct byte_match *ret);
void byte_match_done(struct byte_match *match);
/** byte_match_next() - the @n bytes that may come next, NULL: no guess */
const uint8_t *byte_match_next(const struct byte_match *match, size_t n);
bool byte_match_add(struct byte_match *match, const uint8_t *bytes, size_t n);

/** number_match_init() - @volume: bytes that the numbers take uncompressed, about */
bool number_match_init(struct number_match *match, size_t volume);
void number_match_done(struct number_match *match);
bool number_match_next(const struct number_match *match, uint64_t *ret);
bool number_match_add(struct number_match *match, uint64_t number);

/** match_trust() - by how long the guess has been right, 0 to MATCH_TRUST - 1 */
unsigned match_trust(const struct match *match);
