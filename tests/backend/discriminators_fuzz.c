/* SPDX-License-Identifier: Apache-2.0 */

/* A section .debug_line: it keeps its size, and what was shortened once stays. */

#include <stdlib.h>
#include <string.h>

#include "backend/discriminators.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	discriminators_shorten(bytes, size);
	if (discriminators_shorten(bytes, size))
		__builtin_trap();
	free(bytes);
	return 0;
}
