/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-check SHIPPED MADE: is what the editor made a generation of the shipped file? Prints its build ID, or says on standard
 * error what is wrong. A job of its own (job.h), for MADE is as good as written by whoever wrote the IR.
 */

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "module/image.h"
#include "module/morph_data.h"

static int check_image(const struct image *made, const struct image *shipped, struct fault *reterr)
{
	const struct build_id *id = image_build_id(made);

	if (image_machine(made) != image_machine(shipped) || image_elf_type(made) != image_elf_type(shipped))
		return fault_set(reterr, -EBADMSG,
				 "what the editor wrote is for another machine or of another ELF type");
	if (!id->size || build_id_is_equal(id, image_build_id(shipped)))
		return fault_set(reterr, -EBADMSG, "what the editor wrote has no build ID of its own");
	return 0;
}

/* Without its block map, samples of the new generation would mean nothing. */
static int check_map(const struct image *made, const struct image *shipped, struct fault *reterr)
{
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	struct fault fault = { "" };
	int r = morph_data_load(made, "/nonexistent", &data, &fault);

	if (r < 0 || !data->map || !data->map->n_blocks)
		return fault_set(reterr, -EBADMSG, "what the editor wrote carries no block map%s%s",
				 r < 0 ? ": " : "", r < 0 ? fault.text : "");
	if (!build_id_is_equal(&data->origin, image_build_id(shipped)))
		return fault_set(reterr, -EBADMSG, "what the editor wrote was made from another file");
	return 0;
}

int main(int argc, char **argv)
{
	_clean_(image_freep) struct image *shipped = NULL, *made = NULL;
	char id[BUILD_ID_MAX_TEXT];
	struct fault fault = { "" };
	int r;

	log_init("morph-check", LOG_LEVEL_INFO);
	if (argc != 3) {
		fputs("usage: morph-check SHIPPED MADE (morphd starts it)\n", stderr);
		return 2;
	}
	r = image_open(argv[1], &shipped, &fault);
	if (r == 0)
		r = image_open(argv[2], &made, &fault);
	if (r == 0)
		r = check_image(made, shipped, &fault);
	if (r == 0)
		r = check_map(made, shipped, &fault);
	if (r < 0) {
		log_error("%s", fault.text);
		return 1;
	}
	puts(build_id_text(image_build_id(made), id));
	return 0;
}
