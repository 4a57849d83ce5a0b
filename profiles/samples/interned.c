/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/samples/interned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define LEAST_SLOTS 64u

void interned_done(struct interned *table)
{
	free(table->slots);
	*table = (struct interned){ 0 };
}

/* The order of things never depends on it, so where the kernel has no random number yet the time will do. */
static uint64_t secret_of(struct interned *table)
{
	if (!table->secret &&
	    getrandom(&table->secret, sizeof(table->secret), GRND_NONBLOCK) != (ssize_t)sizeof(table->secret))
		table->secret = (uint64_t)clock() ^ (uint64_t)(uintptr_t)table;
	return table->secret |= 1;
}

/* Both halves of a product: every bit of @a and @b moves every bit of the result. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t interned_numbers_hash(struct interned *table, uint64_t a, uint64_t b)
{
	uint64_t secret = secret_of(table);

	return mix(mix(a ^ secret, 0x9e3779b97f4a7c15u ^ secret << 32) ^ b, 0xd6e8feb86659fd93u ^ secret);
}

uint64_t interned_hash(struct interned *table, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint64_t hash = n;

	for (size_t left = n, step; left; p += step, left -= step) {
		uint64_t word = 0;

		step = left < sizeof(word) ? left : sizeof(word);
		memcpy(&word, p, step);
		hash = interned_numbers_hash(table, hash, word);
	}
	return hash;
}

uint32_t interned_next(const struct interned *table, uint64_t hash, uint64_t *at)
{
	while (table->capacity) {
		const struct interned_slot *slot = &table->slots[(*at)++ & (table->capacity - 1)];

		if (!slot->number)
			break;
		if (slot->hash == (uint32_t)hash)
			return slot->number - 1;
	}
	return INTERNED_NONE;
}

static void slot_fill(struct interned *table, struct interned_slot what)
{
	size_t at = what.hash;

	while (table->slots[at & (table->capacity - 1)].number)
		at++;
	table->slots[at & (table->capacity - 1)] = what;
}

int interned_put(struct interned *table, uint64_t hash, uint32_t number)
{
	if (2 * table->n >= table->capacity) {
		struct interned old = *table;

		table->capacity = old.capacity ? old.capacity * 2 : LEAST_SLOTS;
		table->slots = calloc(table->capacity, sizeof(*table->slots));
		if (!table->slots) {
			*table = old;
			return -ENOMEM;
		}
		for (size_t i = 0; i < old.capacity; i++)
			if (old.slots[i].number)
				slot_fill(table, old.slots[i]);
		free(old.slots);
	}
	slot_fill(table, (struct interned_slot){ number + 1, (uint32_t)hash });
	table->n++;
	return 0;
}
