/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Bytes of a client, in pieces whose sizes the bytes themselves choose: whatever comes, what is passed on is what came,
 * in order, and nothing more is held than one message.
 */

#include "manager/talk/framing.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct framing *framing = calloc(1, sizeof(*framing));
	_clean_(buffer_donep) struct buffer out = { 0 };
	size_t at = 0;
	int r = framing ? 0 : -1;

	while (r == 0 && at < size) {
		size_t n = MIN((size_t)data[at] + 1, size - at);

		r = framing_take(framing, data + at, n, &out);
		at += n;
		if (r == 0 && out.size + framing->n_held != at)
			__builtin_trap();
	}
	if (out.size > at || (out.size && memcmp(out.data, data, out.size) != 0))
		__builtin_trap();
	free(framing);
	return 0;
}
