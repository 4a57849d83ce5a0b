/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bits.h - bits of an LLVM bitstream: little-endian, least significant first, aligned to 32 bits
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bit_reader {
	const uint8_t *bytes; /* borrowed */
	size_t size;	      /* bytes */
	uint64_t at;	      /* bits */
	bool bad;	      /* read past the end, or a number too large: for good */
};

/* @width: 1 to 32 */
static inline uint64_t bits_read(struct bit_reader *in, unsigned width)
{
	uint64_t word = 0, byte = in->at / 8;

	if (in->bad || in->at + width > (uint64_t)in->size * 8) {
		in->bad = true;
		return 0;
	}
	memcpy(&word, in->bytes + byte, in->size - byte < 8 ? in->size - byte : 8);
	word >>= in->at % 8;
	in->at += width;
	return word & (~0ull >> (64 - width));
}

static inline uint64_t bits_read_vbr(struct bit_reader *in, unsigned width)
{
	uint64_t more = 1ull << (width - 1), v = 0;

	for (unsigned shift = 0;; shift += width - 1) {
		uint64_t chunk = bits_read(in, width), low = chunk & (more - 1);

		if (shift > 63 || (shift && low >> (64 - shift)))
			in->bad = true;
		if (in->bad)
			return 0;
		v |= low << shift;
		if (!(chunk & more))
			return v;
	}
}

static inline void bits_align(struct bit_reader *in)
{
	unsigned padding = (unsigned)(-in->at & 31);

	if (padding && bits_read(in, padding) != 0)
		in->bad = true;
}
