/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The frame of every file of ours. The bytes are a frame as they are, and once more with the checksum that belongs to them: the fuzzer
 * cannot guess it, an attacker computes it.
 */

#include "base/container.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define CRC_AT (CONTAINER_HEADER_BYTES - 4)
#define MAX_RAW 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const uint8_t *data, size_t size)
{
	_clean_(buffer_donep) struct buffer whole = { 0 }, head = { 0 };
	unsigned kind, version;
	struct fault fault;

	if (container_peek(data, size, &kind, &version, &fault) < 0)
		return;
	if (container_unpack_limited(data, size, kind, version, MAX_RAW, &whole, &fault) == 0 &&
	    whole.size > MAX_RAW)
		abort();
	if (container_unpack_head(data, size, kind, version, 64, &head, &fault) < 0)
		return;
	if (head.size > 64 || (whole.size && memcmp(head.data, whole.data, MIN(head.size, whole.size)) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = size >= CONTAINER_HEADER_BYTES ? malloc(size) : NULL;
	uint32_t crc, stored = (uint32_t)(size - CONTAINER_HEADER_BYTES);

	read_all(data, size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	memcpy(copy + CRC_AT - 4, &stored, sizeof(stored));
	crc = (uint32_t)crc32(crc32(0, copy, CRC_AT), copy + CONTAINER_HEADER_BYTES, stored);
	memcpy(copy + CRC_AT, &crc, sizeof(crc));
	read_all(copy, size);
	free(copy);
	return 0;
}
