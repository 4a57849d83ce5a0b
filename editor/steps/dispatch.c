/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An interpreter's loop is generated in several ways, and what is predicted to execute least is kept: with a dispatch for each
 * instruction or one for all, and then with less alive between them. Where that is more than there are registers, it is chance
 * which of it lies on the stack (docs/decisions/0017-every-instruction-has-its-own-dispatch.md).
 */

#include "editor/code/dispatch.h"

#include <errno.h>
#include <stdio.h>

#include "editor/count/prediction.h"
#include "editor/link/relink.h"
#include "editor/steps/counted.h"
#include "editor/steps/objects.h"

/*
 * A way must save more than this share of the cost: less is within the prediction's error, and with a dispatch of its own the branch
 * predictor tells instructions apart, which no prediction here knows of.
 */
#define WAY_GAIN 0.005

/* Each is tried on top of the one before, if that was better: one dispatch for all is better where registers are short. */
static const unsigned ways[] = { WAY_SHARED_DISPATCH, WAY_NO_STRENGTH_REDUCTION };

static int executed_in(struct edit *edit, const char *path, struct executed *ret, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(block_map_freep) struct block_map *map = NULL;
	int r = linked_open(path, &image, &map, reterr);

	if (r == 0 && prediction_make(image, map, edit->profile, ret) < 0)
		r = fault_errno(reterr, -ENOMEM, "comparing code");
	return r;
}

/* ---- all that is hot ---- */

static int hot_generate(struct edit *edit, unsigned way, const char *to, struct fault *reterr)
{
	const struct codegen_input input = { "hot", edit->hot_bitcode.data, edit->hot_bitcode.size };
	const char *const more[] = { COUNTED_OPTIONS(way), "-pgo-analysis-map=all", NULL };

	return objects_generate(edit, &input, 1, more, to, reterr);
}

/* What the program would execute with this hot code, in the compiler's order. */
static int executed_with(struct edit *edit, const char *hot, struct executed *ret, struct fault *reterr)
{
	char **objects = objects_list(edit, hot), path[PATH_MAX];
	int r = objects ? 0 : fault_errno(reterr, -ENOMEM, "comparing code");

	if (r == 0)
		r = objects_link(edit, objects, NULL, edit_path(edit, path, "dispatch"), NULL, reterr);
	if (r == 0)
		r = executed_in(edit, path, ret, reterr);
	objects_free(objects);
	return r;
}

/* What pass_generate() made is that of no way. */
static int executed_all(struct edit *edit, unsigned way, struct executed *ret, struct fault *reterr)
{
	int r = way ? hot_generate(edit, way, "way", reterr) : 0;

	return r < 0 ? r : executed_with(edit, way ? "way" : "cut", ret, reterr);
}

static int way_keep(struct edit *edit, struct fault *reterr)
{
	char from[PATH_MAX], to[PATH_MAX];

	return rename(edit_path(edit, from, "way-0.o"), edit_path(edit, to, "best-0.o")) < 0 ?
		       fault_errno(reterr, -errno, "%s", to) :
		       0;
}

/* ---- what has a dispatch, alone: nothing else can differ ---- */

static int executed_alone(struct edit *edit, unsigned way, struct executed *ret, struct fault *reterr)
{
	const struct codegen_input input = { "dispatch", edit->dispatch.data, edit->dispatch.size };
	const char *const more[] = { COUNTED_OPTIONS(way), "-pgo-analysis-map=all", NULL };
	char object[PATH_MAX], path[PATH_MAX];
	int r = objects_generate(edit, &input, 1, more, "dispatch", reterr);

	if (r == 0)
		r = relink_alone(edit_path(edit, object, "dispatch-0.o"), edit->options->directory,
				 edit_path(edit, path, "dispatch"), reterr);
	return r < 0 ? r : executed_in(edit, path, ret, reterr);
}

/* ---- which ---- */

static int executed_by(struct edit *edit, unsigned way, struct executed *ret, struct fault *reterr)
{
	return edit->dispatch.size ? executed_alone(edit, way, ret, reterr) :
				     executed_all(edit, way, ret, reterr);
}

/* The share of all that is executed, when @rest is what runs beside. */
static double gain(const struct executed *rest, const struct executed *before, const struct executed *after)
{
	return prediction_gain(
		&(struct executed){ rest->instructions + before->instructions, rest->taken + before->taken },
		&(struct executed){ rest->instructions + after->instructions, rest->taken + after->taken });
}

/* @rest: what runs beside @best, which is that of the way 0, then of the one returned in @retway */
static int ways_try(struct edit *edit, const struct executed *rest, struct executed *best, unsigned *retway,
		    struct fault *reterr)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ways) && r == 0; i++) {
		struct executed one;

		r = executed_by(edit, *retway | ways[i], &one, reterr);
		if (r < 0 || gain(rest, best, &one) <= WAY_GAIN)
			return r;
		*retway |= ways[i];
		*best = one;
		if (!edit->dispatch.size)
			r = way_keep(edit, reterr);
	}
	return r;
}

/* What is good for a dispatch must be so for all that is hot. */
static int all_follow(struct edit *edit, unsigned *way, struct fault *reterr)
{
	struct executed before, after;
	int r = executed_all(edit, 0, &before, reterr);

	if (r == 0)
		r = executed_all(edit, *way, &after, reterr);
	if (r == 0 && prediction_gain(&before, &after) > WAY_GAIN)
		return way_keep(edit, reterr);
	*way = 0;
	return r;
}

int pass_dispatch(struct edit *edit, struct fault *reterr)
{
	struct executed *before = &edit->report->before, rest = { 0 }, best;
	unsigned way = 0;
	int r;

	if (!edit->has_dispatch)
		return 0;
	r = executed_by(edit, 0, &best, reterr);
	if (r == 0 && edit->dispatch.size) {
		if (prediction_make(edit->program, edit->data->map, edit->profile, before) < 0)
			return fault_errno(reterr, -ENOMEM, "comparing code");
		rest = (struct executed){ before->instructions - best.instructions,
					  before->taken - best.taken };
	}
	if (r == 0)
		r = ways_try(edit, &rest, &best, &way, reterr);
	if (r == 0 && way && edit->dispatch.size)
		r = all_follow(edit, &way, reterr);
	edit->report->way = r == 0 ? way : 0;
	return r;
}
