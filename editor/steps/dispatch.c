/* SPDX-License-Identifier: Apache-2.0 */

/* One dispatch for all of an interpreter's instructions, or one for each: both are tried. */

#include "editor/code/dispatch.h"

#include <errno.h>

#include "editor/count/prediction.h"
#include "editor/link/relink.h"
#include "editor/steps/counted.h"
#include "editor/steps/objects.h"

/*
 * Sharing one must save more than this share of the cost: less is within the prediction's error, and with a dispatch of its own the
 * branch predictor tells instructions apart, which no prediction here knows of.
 */
#define SHARING_GAIN 0.005

static int executed_in(struct edit *edit, const char *path, struct executed *ret, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(block_map_freep) struct block_map *map = NULL;
	int r = linked_open(path, &image, &map, reterr);

	if (r == 0 && prediction_make(image, map, edit->profile, ret) < 0)
		r = fault_errno(reterr, -ENOMEM, "comparing dispatches");
	return r;
}

static int shared_generate(struct edit *edit, struct fault *reterr)
{
	const struct codegen_input input = { "hot", edit->hot_bitcode.data, edit->hot_bitcode.size };
	const char *const more[] = { COUNTED_OPTIONS(true), "-pgo-analysis-map=all", NULL };

	return objects_generate(edit, &input, 1, more, "shared", reterr);
}

/* ---- all that is hot, both ways ---- */

/* What the program would execute with this hot code, in the compiler's order. */
static int executed_with(struct edit *edit, const char *hot, struct executed *ret, struct fault *reterr)
{
	char **objects = objects_list(edit, hot), path[PATH_MAX];
	int r = objects ? 0 : fault_errno(reterr, -ENOMEM, "comparing dispatches");

	if (r == 0)
		r = objects_link(edit, objects, NULL, edit_path(edit, path, "dispatch"), NULL, reterr);
	if (r == 0)
		r = executed_in(edit, path, ret, reterr);
	objects_free(objects);
	return r;
}

static int all_compare(struct edit *edit, double *retgain, struct fault *reterr)
{
	struct executed copied, shared;
	int r = shared_generate(edit, reterr);

	if (r == 0)
		r = executed_with(edit, "cut", &copied, reterr);
	if (r == 0)
		r = executed_with(edit, "shared", &shared, reterr);
	if (r == 0)
		*retgain = prediction_gain(&copied, &shared);
	return r;
}

/* ---- what has a dispatch, alone: nothing else can differ ---- */

static int executed_alone(struct edit *edit, bool shares, struct executed *ret, struct fault *reterr)
{
	const struct codegen_input input = { "dispatch", edit->dispatch.data, edit->dispatch.size };
	const char *const more[] = { COUNTED_OPTIONS(shares), "-pgo-analysis-map=all", NULL };
	char object[PATH_MAX], path[PATH_MAX];
	int r = objects_generate(edit, &input, 1, more, "dispatch", reterr);

	if (r == 0)
		r = relink_alone(edit_path(edit, object, "dispatch-0.o"), edit->options->directory,
				 edit_path(edit, path, "dispatch"), reterr);
	return r < 0 ? r : executed_in(edit, path, ret, reterr);
}

static int alone_compare(struct edit *edit, double *retgain, struct fault *reterr)
{
	struct executed *before = &edit->report->before, copied, shared, sharing;
	int r = executed_alone(edit, false, &copied, reterr);

	if (r == 0)
		r = executed_alone(edit, true, &shared, reterr);
	if (r == 0 && prediction_make(edit->program, edit->data->map, edit->profile, before) < 0)
		r = fault_errno(reterr, -ENOMEM, "comparing dispatches");
	if (r < 0)
		return r;
	sharing = (struct executed){ before->instructions - copied.instructions + shared.instructions,
				     before->taken - copied.taken + shared.taken };
	*retgain = prediction_gain(before, &sharing);
	return *retgain > SHARING_GAIN ? shared_generate(edit, reterr) : 0;
}

int pass_dispatch(struct edit *edit, struct fault *reterr)
{
	double gain = 0;
	int r;

	if (!edit->has_dispatch)
		return 0;
	r = edit->dispatch.size ? alone_compare(edit, &gain, reterr) : all_compare(edit, &gain, reterr);
	edit->report->shares_dispatch = r == 0 && gain > SHARING_GAIN;
	return r;
}
