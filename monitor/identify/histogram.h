/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * histogram.h - counts per (module, a, b), between two writings of a sample log
 *
 * For samples a is the offset and b is 0; for branches a is from and b is to. Open addressing, grows
 * at 3/4; 32 bytes an entry. O(1) per addition.
 */

#include <stddef.h>
#include <stdint.h>

struct histogram_entry {
	uint64_t a, b, count; /* count 0: free slot */
	uint32_t module;
};

struct histogram {
	struct histogram_entry *entries; /* owned */
	size_t n, capacity;		 /* capacity is a power of two, or 0 */
	uint64_t total;
};

/** histogram_add() - 0, or -ENOMEM (then nothing was counted) */
int histogram_add(struct histogram *histogram, uint32_t module, uint64_t a, uint64_t b, uint64_t count);
/** histogram_clear() - forget all counts; gives memory back when much was unused */
void histogram_clear(struct histogram *histogram);
void histogram_done(struct histogram *histogram);
static inline void histogram_donep(struct histogram *histogram)
{
	histogram_done(histogram);
}
