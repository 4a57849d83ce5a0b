/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * tally.h - counts per (module, a, b), between two writings of a sample log
 *
 * For samples a is the offset and b is 0; for branches a is from and b is to. Open addressing, grows
 * at 3/4; 32 bytes an entry. O(1) per addition.
 */

#include <stddef.h>
#include <stdint.h>

struct tally_entry {
	uint64_t a, b, count; /* count 0: free slot */
	uint32_t module;
};

struct tally {
	struct tally_entry *entries; /* owned */
	size_t n, capacity;	     /* capacity is a power of two, or 0 */
	uint64_t total;
};

/** tally_add() - 0, or -ENOMEM (then nothing was counted) */
int tally_add(struct tally *tally, uint32_t module, uint64_t a, uint64_t b, uint64_t count);
/** tally_clear() - forget all counts; gives memory back when much was unused */
void tally_clear(struct tally *tally);
void tally_done(struct tally *tally);
static inline void tally_donep(struct tally *tally)
{
	tally_done(tally);
}
