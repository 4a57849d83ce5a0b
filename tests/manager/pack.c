/* SPDX-License-Identifier: Apache-2.0 */

/*
 * manager-pack PROGRAM OUT MODULES [SHIPPED]: the Morph data of a linked program as a container: its block map,
 * and as many modules as said; a generation has none, and names the file that it was made from.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "module/morph_data.h"

static int pack(const char *program, const char *out, size_t n_modules, const char *shipped,
		struct fault *fault)
{
	_clean_(image_freep) struct image *origin = NULL;
	static struct morph_module modules[] = { { (char *)"program.o", (const uint8_t *)"BC\xc0\xde", 4 } };
	_clean_(image_freep) struct image *image = NULL;
	_clean_(block_map_freep) struct block_map *map = NULL;
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct link_plan plan = { 0 };
	struct morph_data data = { .llvm_version = (char *)"22.1.8",
				   .triple = (char *)"x86_64-pc-linux-gnu",
				   .lto = MORPH_LTO_THIN,
				   .opt_level = 2,
				   .plan = &plan,
				   .modules = modules,
				   .n_modules = n_modules };
	int r = image_open(program, &image, fault);

	if (r == 0 && shipped)
		r = image_open(shipped, &origin, fault);
	if (r == 0)
		r = block_map_build(image, &map, fault);
	if (r < 0)
		return r;
	data.build_id = *image_build_id(image);
	data.map = map;
	if (origin)
		data.origin = *image_build_id(origin);
	r = morph_data_encode(&data, &bytes);
	return r < 0 ? fault_errno(fault, r, "%s", program) :
		       file_write(out, bytes.data, bytes.size, 0644, fault);
}

int main(int argc, char **argv)
{
	struct fault fault = { "" };

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: %s PROGRAM OUT MODULES [SHIPPED]\n", argv[0]);
		return 2;
	}
	if (pack(argv[1], argv[2], (size_t)atoi(argv[3]), argc > 4 ? argv[4] : NULL, &fault) == 0)
		return 0;
	fprintf(stderr, "%s\n", fault.text);
	return 1;
}
