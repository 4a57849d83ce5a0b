/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The linker's sections alone. The first byte says which reader gets the rest: 0: address map, 1: probes,
 * 2: probe descriptors.
 */

#include "module/bb_addr_map.h"
#include "module/pseudo_probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void probes_read(const uint8_t *data, size_t size)
{
	struct probe_base bases[] = { { .guid = 0xdb956436e78dd5fa, .address = 64 }, { .guid = UINT64_MAX } };
	struct probe_bases all = { bases, ARRAY_SIZE(bases) };
	struct pseudo_probes probes = { 0 };
	struct fault fault;

	pseudo_probes_read(&probes, &all, data, size, &fault);
	pseudo_probes_done(&probes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(block_map_freep) struct block_map *map = calloc(1, sizeof(*map));
	struct block_builder builder = { .map = map };
	struct probe_descriptors descriptors = { 0 };
	struct fault fault;

	if (!map || size == 0)
		return 0;
	switch (data[0]) {
	case 0: bb_addr_map_read(&builder, data + 1, size - 1, &fault); break;
	case 1: probes_read(data + 1, size - 1); break;
	default:
		probe_descriptors_read(&descriptors, data + 1, size - 1, &fault);
		probe_descriptors_done(&descriptors);
	}
	return 0;
}
