/* SPDX-License-Identifier: Apache-2.0 */

/* A .morph payload; the fuzzer cannot guess checksums, so the container is made here. */

#include "module/morph_data.h"

#include "base/container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(morph_data_freep) struct morph_data *found = NULL;
	_clean_(buffer_donep) struct buffer container = { 0 };
	struct fault fault;

	if (container_pack(CONTAINER_MORPH, MORPH_DATA_VERSION, data, size, 0, &container) < 0)
		return 0;
	if (morph_data_decode(container.data, container.size, &found, &fault) == 0)
		morph_data_unpack(found, &fault);
	return 0;
}
