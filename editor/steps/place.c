/* SPDX-License-Identifier: Apache-2.0 */

/* Code with counts, the order that they ask for, and code in that order. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "editor/ir/probes.h"
#include "editor/steps/objects.h"

/*
 * For code with counts. LLVM copies the dispatch of an interpreter to the end of each instruction's code only up to
 * 16 instructions, to save time on code that nobody runs; this code is known to run. Instructions chosen for size are slow ones, also
 * where the passes before have rightly kept code small (docs/decisions/0026-what-is-not-hot-stays-small.md).
 */
#define COUNTED_OPTIONS "-tail-dup-pred-size=512", "-tail-dup-succ-size=512", "-pgso=false"

/*
 * For code that has its order: LLVM pads loops by what stands before them, and its own ext-TSP order is nearest to ours. Without
 * it the padding is run through (gzip: 6 % more instructions); in an interpreter's thousand blocks there are few loops, and it takes
 * its time (lua5.4: 6 % of the edit). Blocks and their IDs are the same either way.
 */
#define LAST_OPTIONS "-enable-ext-tsp-block-placement", "-ext-tsp-block-placement-max-blocks=500"

/* The hot module with its counts; cold halves as they were, where there is no base object to keep. */
int pass_generate(struct edit *edit, struct fault *reterr)
{
	struct codegen_input *inputs = calloc(edit->data->n_modules + 1, sizeof(*inputs));
	const char *const more[] = { COUNTED_OPTIONS, "-pgo-analysis-map=all", NULL };
	size_t n = 0;
	int r;

	if (!inputs)
		return fault_errno(reterr, -ENOMEM, "generating code");
	inputs[n++] = (struct codegen_input){ "hot", edit->hot_bitcode.data, edit->hot_bitcode.size };
	for (size_t i = 0; i < edit->data->n_modules; i++)
		if (edit->units[i].cold.size && !edit->units[i].keeps_base)
			inputs[n++] =
				(struct codegen_input){ edit->data->modules[i].name, edit->units[i].cold.data,
							edit->units[i].cold.size };
	r = objects_generate(edit, inputs, n, more, "cut", reterr);
	free(inputs);
	return r;
}

int pass_layout(struct edit *edit, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	char **objects = objects_list(edit, "cut"), path[PATH_MAX];
	int r = objects ? 0 : fault_errno(reterr, -ENOMEM, "laying out");

	if (r == 0)
		r = objects_link(edit, objects, NULL, edit_path(edit, path, "counted"), NULL, reterr);
	if (r == 0)
		r = linked_open(path, &image, &edit->counted, reterr);
	if (r == 0)
		heat_count(edit->counted, edit->profile);
	if (r == 0)
		r = placement_make(image, edit->counted, &edit->placement, reterr);
	objects_free(objects);
	if (r < 0)
		return r;
	edit->report->n_laid_out = edit->placement.n_functions;
	edit->report->n_cold_blocks = edit->placement.n_cold_blocks;
	edit->report->score_before = edit->placement.score_before;
	edit->report->score_after = edit->placement.score_after;
	r = file_write(edit_path(edit, path, "clusters.txt"), edit->placement.clusters.data,
		       edit->placement.clusters.size, 0600, reterr);
	if (r == 0)
		r = file_write(edit_path(edit, path, "symbols.txt"), edit->placement.symbols.data,
			       edit->placement.symbols.size, 0600, reterr);
	return r;
}

/* Objects of this edit; what the linker makes itself is in none. */
static bool is_made(const char *part)
{
	return strncmp(part, "placed-", 7) == 0 || strncmp(part, "cut-", 4) == 0 ||
	       strncmp(part, "<internal>", 10) == 0;
}

/*
 * LLVM 22 cannot write probes of a function that is in several sections (".sleb128 expression is
 * not absolute"), so they are hidden from it, and the generation's map takes them from that of pass_layout()'s link.
 */
int pass_place(struct edit *edit, struct fault *reterr)
{
	struct codegen_input input = { "hot", edit->hot_bitcode.data, edit->hot_bitcode.size };
	char path[PATH_MAX], clusters[PATH_MAX + 32], order[PATH_MAX + 32], id[BUILD_ID_MAX_TEXT],
		build_id[96];
	const char *const more[] = { COUNTED_OPTIONS, LAST_OPTIONS, clusters, "-pgo-analysis-map=br-prob",
				     NULL };
	const char *const options[] = { order,	  "--no-warn-symbol-ordering",
					"-z",	  "keep-text-section-prefix",
					build_id, NULL };
	_clean_(link_map_freep) struct link_map *made = NULL;
	char **objects = objects_list(edit, "placed");
	int r = objects ? 0 : fault_errno(reterr, -ENOMEM, "linking");

	snprintf(clusters, sizeof(clusters), "-basic-block-sections=%s",
		 edit_path(edit, path, "clusters.txt"));
	snprintf(order, sizeof(order), "--symbol-ordering-file=%s", edit_path(edit, path, "symbols.txt"));
	snprintf(build_id, sizeof(build_id), "--build-id=0x%s", build_id_text(&edit->report->build_id, id));
	edit_path(edit, edit->out, "out");
	if (r == 0)
		r = probes_hide(edit->hot_bitcode.data, edit->hot_bitcode.size, reterr);
	if (r == 0)
		r = objects_generate(edit, &input, 1, more, "placed", reterr);
	if (r == 0)
		r = objects_link(edit, objects, options, edit->out, &made, reterr);
	if (r == 0)
		r = link_map_compare(edit->known, made, is_made, reterr);
	for (char **o = objects; r == 0 && *o; o++)
		if (is_made(strrchr(*o, '/') + 1))
			r = references_check(*o, made, edit->names.used, edit->words, reterr);
	objects_free(objects);
	return r;
}
