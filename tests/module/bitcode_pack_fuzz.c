/* SPDX-License-Identifier: Apache-2.0 */

/* Packed modules from anybody; the first byte says how large they claim to be. */

#include "module/bitcode_pack.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(buffer_donep) struct buffer out = { 0 };
	size_t sizes[2] = { size ? data[0] * 4u : 0, 64 };
	struct fault fault;

	if (size && bitcode_unpack(data + 1, size - 1, sizes, 2, &out, &fault) == 0 &&
	    out.size != sizes[0] + sizes[1])
		abort();
	return 0;
}
