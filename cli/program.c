/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/profile/profile.h"

#include <errno.h>

int program_open(const char *path, const char *sidecar_dir, struct program *ret, struct fault *reterr)
{
	struct program program = { 0 };
	int r = image_open(path, &program.image, reterr);

	if (r == 0)
		r = morph_data_load(program.image, sidecar_dir, &program.data, reterr);
	if (r == 0 && !program.data->map)
		r = fault_set(reterr, -ENODATA,
			      "%s: its Morph data has no block map; build it again with "
			      "`morph-cc`",
			      path);
	if (r < 0) {
		program_done(&program);
		return r;
	}
	*ret = program;
	return 0;
}

void program_done(struct program *program)
{
	image_free(program->image);
	morph_data_free(program->data);
	*program = (struct program){ 0 };
}

const struct build_id *program_shipped_id(const struct program *program)
{
	const struct morph_data *data = program->data;

	return data->origin.size ? &data->origin : &data->build_id;
}
