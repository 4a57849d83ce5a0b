/* SPDX-License-Identifier: Apache-2.0 */

/* Foreign text as events; what decodes must encode to something that decodes to as many. */

#include "profiles/samples/lifecycle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(lifecycle_donep) struct lifecycle first = { 0 }, second = { 0 };
	_clean_(buffer_donep) struct buffer text = { 0 };
	struct fault fault;

	if (lifecycle_decode((const char *)data, size, &first, &fault) != 0)
		return 0;
	if (lifecycle_encode(&first, &text) != 0 ||
	    lifecycle_decode((const char *)text.data, text.size, &second, &fault) != 0 ||
	    first.n_events != second.n_events)
		abort();
	return 0;
}
