/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * interned.h - which number a thing was given, found by its hash; the things are the caller's
 *
 * Open addressing with linear probing (Knuth, TAOCP 3, 6.4, algorithm L). Names and addresses that are looked up come
 * from whoever runs programs here, so a secret number that differs from table to table goes into each hash: nobody can
 * choose things that collide.
 *
 *	hash = interned_hash(&table, bytes, n);
 *	for (at = hash; (number = interned_next(&table, hash, &at)) != INTERNED_NONE;)
 *		if (thing [number] is the one) return number;
 *	interned_put(&table, hash, n_things);
 */

#include <stddef.h>
#include <stdint.h>

#define INTERNED_NONE UINT32_MAX

struct interned_slot {
	uint32_t number; /* + 1; 0: free */
	uint32_t hash;
};

struct interned {
	struct interned_slot *slots; /* owned */
	size_t n, capacity;	     /* a power of two, at most half full */
	uint64_t secret;
};

/** interned_done() - empty again, and usable; all zeros is an empty one */
void interned_done(struct interned *table);

uint64_t interned_hash(struct interned *table, const void *bytes, size_t n);
/** interned_numbers_hash() - of two numbers, in a few cycles */
uint64_t interned_numbers_hash(struct interned *table, uint64_t a, uint64_t b);

/** interned_next() - the next number with this hash; @at begins as the hash itself */
uint32_t interned_next(const struct interned *table, uint64_t hash, uint64_t *at);
/** interned_put() - @number, which is not in it yet; 0 or -ENOMEM */
int interned_put(struct interned *table, uint64_t hash, uint32_t number);
