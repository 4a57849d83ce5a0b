/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/steps/state.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "editor/steps/recall.h"

/* Is it a shipped file, and is the profile of it? */
static int data_check(struct edit *edit, struct fault *reterr)
{
	const struct morph_data *data = edit->data;
	const char *path = image_path(edit->program);

	if (data->origin.size)
		return fault_set(reterr, -ENODATA,
				 "%s: a generation, without IR; edit the shipped file it was made from",
				 path);
	if (edit->profile && !build_id_is_equal(&data->build_id, &edit->profile->build_id))
		return fault_set(reterr, -EXDEV,
				 "%s: the profile is of another build; make one with `morph profile`", path);
	if (data->selftest && snprintf(edit->report->selftest, sizeof(edit->report->selftest), "%s",
				       data->selftest) >= (int)sizeof(edit->report->selftest))
		return fault_set(reterr, -E2BIG, "%s: its self-test is a command of more than %zu bytes",
				 path, sizeof(edit->report->selftest) - 1);
	return 0;
}

void edit_origin(const struct image *program, const struct profile *profile, char ret[PATH_MAX])
{
	const char *path = profile && profile->path ? profile->path : image_path(program);
	char *slash;

	if (path[0] == '/')
		snprintf(ret, PATH_MAX, "%s", path);
	else if (!realpath(path, ret))
		ret[0] = '\0';
	slash = strrchr(ret, '/');
	if (slash)
		*slash = '\0';
}

static int origin_find(struct edit *edit, struct fault *reterr)
{
	int r;

	edit_origin(edit->program, edit->profile, edit->origin);
	r = dynamic_open(edit->program, &edit->dynamic, reterr);
	return r == -ENODATA ? 0 : r;
}

int edit_init(struct edit *edit, struct fault *reterr)
{
	int r = morph_data_load(edit->program, edit->options->sidecar_dir, &edit->data, reterr);

	if (r == 0)
		r = data_check(edit, reterr);
	if (r == 0)
		r = origin_find(edit, reterr);
	if (r < 0)
		return r;
	r = recall_begin(edit, reterr);
	if (r == 0)
		r = recall_ir(edit, reterr);
	if (r < 0)
		return fault_prefix(reterr, r, "%s", image_path(edit->program));
	edit->units = calloc(edit->data->n_modules + 1, sizeof(*edit->units));
	edit->visible = name_set_new();
	edit->slots = slots_new();
	edit->names = (struct references){ name_set_new(), name_set_new(), name_set_new() };
	edit->words = name_set_new();
	edit->wrapped = name_set_new();
	edit->heat = edit->profile ? heat_new(edit->data->map, edit->profile) : NULL;
	if (!edit->units || !edit->visible || !edit->slots || !edit->names.used || !edit->names.defined ||
	    !edit->names.contested || !edit->words || !edit->wrapped || (edit->profile && !edit->heat))
		return fault_errno(reterr, -ENOMEM, "starting the edit");
	return 0;
}

void edit_done(struct edit *edit)
{
	for (size_t i = 0; edit->units && i < edit->data->n_modules; i++) {
		buffer_done(&edit->units[i].restored);
		buffer_done(&edit->units[i].cold);
		name_set_free(edit->units[i].moved);
	}
	free(edit->units);
	if (edit->hot)
		LLVMDisposeModule(edit->hot);
	if (edit->hot_part)
		LLVMDisposeModule(edit->hot_part);
	heat_free(edit->heat);
	name_set_free(edit->visible);
	slots_free(edit->slots);
	link_map_free(edit->known);
	name_set_free(edit->names.used);
	name_set_free(edit->names.defined);
	name_set_free(edit->names.contested);
	name_set_free(edit->words);
	name_set_free(edit->wrapped);
	buffer_done(&edit->hot_bitcode);
	buffer_done(&edit->dispatch);
	block_map_free(edit->counted);
	placement_done(&edit->placement);
	morph_data_free(edit->data);
	memo_free(edit->memo);
}
