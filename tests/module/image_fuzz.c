/* SPDX-License-Identifier: Apache-2.0 */

/* A whole ELF file with the linker's sections, read as the packer and the daemon read it. */

#include "module/block_map.h"
#include "module/morph_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(morph_data_freep) struct morph_data *morph = NULL;
	_clean_(block_map_freep) struct block_map *map = NULL;
	_clean_(image_freep) struct image *image = NULL;
	struct fault fault;
	uint64_t v;

	if (image_open_bytes(data, size, "fuzz", &image, &fault) < 0)
		return 0;
	for (size_t i = 0; i < image_n_symbols(image); i++) {
		const struct image_symbol *s = image_symbol_at(image, i);
		const uint8_t *code = image_code(image, s->address, s->size);

		if (code && s->size && code[0] + code[s->size - 1] == 1)
			image_address_to_offset(image, s->address, &v);
	}
	if (block_map_build(image, &map, &fault) == 0)
		block_map_make_unique(map);
	if (morph_data_load(image, "/nonexistent", &morph, &fault) == 0)
		morph_data_unpack(morph, &fault);
	return 0;
}
