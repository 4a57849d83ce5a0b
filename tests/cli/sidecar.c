/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sidecar PROGRAM DIR [SHIPPED]: write the Morph data of a linked program (its block map, no IR)
 * where `--sidecar-dir DIR` finds it, and its hash into the program; with SHIPPED, as a generation of that file.
 */

#include <libgen.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "module/morph_data.h"
#include "module/sidecar.h"

static int data_write(const struct image *image, const struct image *shipped, const char *dir,
		      struct fault *fault)
{
	_clean_(buffer_donep) struct buffer container = { 0 }, file = { 0 };
	_clean_(block_map_freep) struct block_map *map = NULL;
	struct link_plan plan = { 0 };
	struct morph_data data = { .build_id = *image_build_id(image),
				   .llvm_version = "22",
				   .plan = &plan,
				   .triple = "x86_64-pc-linux-gnu",
				   .lto = MORPH_LTO_THIN };
	char path[4096], parent[4096];
	int r = block_map_build(image, &map, fault);

	if (r == 0 && !shipped)
		r = block_map_make_unique(map);
	data.map = map;
	if (shipped)
		data.origin = *image_build_id(shipped);
	if (r == 0)
		r = morph_data_encode(&data, &container);
	if (r == 0)
		r = sidecar_path(&data.build_id, dir, path, sizeof(path));
	if (r < 0)
		return r;
	strcpy(parent, path);
	r = file_mkdirs(dirname(parent), 0755, fault);
	if (r == 0)
		r = file_write(path, container.data, container.size, 0644, fault);
	if (r == 0)
		r = sidecar_split(image, container.data, container.size, &file, fault);
	return r < 0 ? r : file_write(image_path(image), file.data, file.size, 0755, fault);
}

int main(int argc, char **argv)
{
	_clean_(image_freep) struct image *image = NULL, *shipped = NULL;
	struct fault fault = { "cannot write the Morph data" };
	int r;

	if (argc != 3 && argc != 4)
		return 2;
	r = image_open(argv[1], &image, &fault);
	if (r == 0 && argc == 4)
		r = image_open(argv[3], &shipped, &fault);
	if (r == 0)
		r = data_write(image, shipped, argv[2], &fault);
	if (r < 0)
		fprintf(stderr, "sidecar: %s\n", fault.text);
	return r < 0;
}
