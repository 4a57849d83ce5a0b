/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Packed modules from anybody, beside a file from anybody: the first byte says how large they claim to be and
 * whether there are two, the second how much of what follows is loaded with the file; some of that are GUIDs, too.
 */

#include "module/bitcode_pack.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(buffer_donep) struct buffer out = { 0 };
	size_t sizes[2] = { size ? (data[0] >> 1) * 16u : 0, 64 }, n = size ? 1 + (data[0] & 1) : 1;
	uint64_t numbers[4] = { 0 };
	struct bitcode_prior prior = { .numbers = numbers };
	struct fault fault;

	if (size < 2)
		return 0;
	prior.bytes.size = data[1] < size - 2 ? data[1] : size - 2;
	prior.bytes.data = (uint8_t *)data + 2;
	if (prior.bytes.size >= sizeof(numbers)) {
		memcpy(numbers, prior.bytes.data, sizeof(numbers));
		prior.n_numbers = 4;
	}
	data += 2 + prior.bytes.size;
	size -= 2 + prior.bytes.size;
	if (size && bitcode_unpack(data, size, &prior, sizes, n, &out, &fault) == 0 &&
	    out.size != sizes[0] + (n > 1 ? sizes[1] : 0))
		abort();
	return 0;
}
