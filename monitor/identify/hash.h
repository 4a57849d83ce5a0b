/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * hash.h - two small hash functions for the monitor's tables; not for foreign adversaries' benefit:
 * every table that uses them grows, so a bad key set costs time, never correctness.
 */

#include <stddef.h>
#include <stdint.h>

/** hash_u64() - the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/** hash_bytes() - FNV-1a, continued from @seed */
static inline uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	uint64_t h = seed ^ 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}
