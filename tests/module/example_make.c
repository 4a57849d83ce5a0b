/* SPDX-License-Identifier: Apache-2.0 */

/*
 * example-make CODE LINK OUTPUT: the example of coder/example.h, of two programs with Morph data (scripts/example): IR and
 * block map of the first, fields of the second.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>

#include "base/container.h"
#include "base/file.h"
#include "module/coder/example.h"
#include "module/morph_data.h"

static int load(const char *path, struct image **retimage, struct morph_data **ret, struct fault *reterr)
{
	int r = image_open(path, retimage, reterr);

	if (r == 0)
		r = morph_data_load(*retimage, NULL, ret, reterr);
	return r == 0 ? morph_data_unpack(*ret, reterr) : r;
}

static int example_make(char **paths, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL, *link_image = NULL;
	_clean_(morph_data_freep) struct morph_data *code = NULL, *link = NULL;
	_clean_(buffer_donep) struct buffer map = { 0 }, payload = { 0 }, container = { 0 };
	int r = load(paths[0], &image, &code, reterr);

	if (r == 0)
		r = load(paths[1], &link_image, &link, reterr);
	if (r < 0)
		return r;
	code->map->build_id = (struct build_id){ 0 };
	r = block_map_encode(code->map, &map);
	buffer_string(&payload, (const char *)link->fields.data, link->fields.size);
	buffer_string(&payload, (const char *)map.data, map.size);
	buffer_string(&payload, (const char *)code->ir.data, code->ir.size);
	if (r < 0 || payload.bad ||
	    container_pack(CONTAINER_MORPH, EXAMPLE_VERSION, payload.data, payload.size, 9, &container) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", paths[0]);
	printf("fields %zu, map %zu, IR %zu: %zu bytes\n", link->fields.size, map.size, code->ir.size,
	       container.size);
	return file_write(paths[2], container.data, container.size, 0644, reterr);
}

int main(int argc, char **argv)
{
	struct fault fault;

	if (argc != 4) {
		fprintf(stderr, "usage: example-make CODE LINK OUTPUT\n");
		return 2;
	}
	if (example_make(argv + 1, &fault) == 0)
		return 0;
	fprintf(stderr, "%s\n", fault.text);
	return 1;
}
