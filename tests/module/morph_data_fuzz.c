/* SPDX-License-Identifier: Apache-2.0 */

/* A .morph payload; the fuzzer cannot guess checksums, so the container is made here. */

#include "module/morph_data.h"

#include <string.h>

#include "base/container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(morph_data_freep) struct morph_data *found = NULL;
	_clean_(buffer_donep) struct buffer container = { 0 };
	_clean_(buffer_donep) struct buffer head = { 0 };
	struct fault fault;

	if (container_pack(CONTAINER_MORPH, MORPH_DATA_VERSION, data, size, 0, &container) < 0)
		return 0;
	/* What was modelled is for the target bitcode_pack: learning from the example first takes too long to fuzz. */
	if (morph_data_decode(container.data, container.size, &found, &fault) == 0 &&
	    (!IS_FUZZED || !found->n_packed || !found->packed[0]))
		morph_data_unpack(found, &fault);
	/* The head of a payload is the head, whatever it claims to be. */
	if (container_unpack_head(container.data, container.size, CONTAINER_MORPH, MORPH_DATA_VERSION, 64,
				  &head, &fault) == 0 &&
	    (head.size > 64 || head.size > size || memcmp(head.data, data, head.size) != 0))
		__builtin_trap();
	return 0;
}
