/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The C API can add named metadata but not remove it. Its name stands in the bitstream as an array of
 * 8-bit fields (METADATA_NAME in BitcodeWriter.cpp) at any bit offset: find those 176 bits, and change
 * the last character. Nothing else moves.
 */

#include "editor/ir/probes.h"

#include <errno.h>
#include <string.h>

static const char hidden_name[] = "llvm.pseudo_probe_desc";
#define NAME_BYTES (sizeof(hidden_name) - 1)

static uint8_t byte_at(const uint8_t *bytes, size_t at, unsigned shift)
{
	return (uint8_t)(bytes[at] >> shift | (shift ? bytes[at + 1] << (8 - shift) : 0));
}

static int matches(const uint8_t *bytes, size_t at, unsigned shift)
{
	for (size_t i = 0; i < NAME_BYTES; i++)
		if (byte_at(bytes, at + i, shift) != (uint8_t)hidden_name[i])
			return 0;
	return 1;
}

/* Flip the lowest bit of the name's last character: 'c' becomes 'b'. */
static void rename_at(uint8_t *bytes, size_t at, unsigned shift)
{
	bytes[at + NAME_BYTES - 1] ^= (uint8_t)(1u << shift);
}

int probes_hide(uint8_t *bitcode, size_t size, struct fault *reterr)
{
	size_t found_at = 0;
	unsigned found_shift = 0, n = 0;

	for (size_t at = 0; at + NAME_BYTES < size; at++)
		for (unsigned shift = 0; shift < 8; shift++)
			if (matches(bitcode, at, shift)) {
				found_at = at;
				found_shift = shift;
				n++;
			}
	if (n > 1)
		return fault_set(reterr, -EBADMSG, "the IR names %s %u times", hidden_name, n);
	if (n)
		rename_at(bitcode, found_at, found_shift);
	return 0;
}
