/* SPDX-License-Identifier: Apache-2.0 */

/* Code with counts, the order that they ask for, and code in that order. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "editor/ir/probes.h"
#include "editor/steps/counted.h"
#include "editor/steps/objects.h"
#include "editor/steps/recall.h"

/*
 * For code that has its order: LLVM pads loops by what stands before them, and its own ext-TSP order is nearest to ours. Without
 * it the padding is run through (gzip: 6 % more instructions); in an interpreter's thousand blocks there are few loops, and it takes
 * its time (lua5.4: 6 % of the edit). Blocks and their IDs are the same either way.
 */
#define LAST_OPTIONS "-enable-ext-tsp-block-placement", "-ext-tsp-block-placement-max-blocks=500"

/* Code of a cold half that is to be generated. */
struct half {
	size_t unit;  /* whose it is */
	size_t place; /* its object is cut-PLACE.o */
};

/* Cold halves as they were, where there is no base object to keep, and no memo has their code. Return: how many; -errno */
static ssize_t halves_find(struct edit *edit, struct half *ret, struct fault *reterr)
{
	size_t n = 0, place = 0;
	char path[PATH_MAX];

	for (size_t i = 0; i < edit->data->n_modules; i++) {
		int r;

		if (!edit->units[i].cold.size || edit->units[i].keeps_base)
			continue;
		r = recall_half(edit, i, edit_path(edit, path, "cut-%zu.o", ++place), reterr);
		if (r < 0)
			return r;
		if (r == 0)
			ret[n++] = (struct half){ i, place };
	}
	return (ssize_t)n;
}

static int halves_place(struct edit *edit, const struct half *halves, size_t n, struct fault *reterr)
{
	char from[PATH_MAX], to[PATH_MAX];
	int r = 0;

	for (size_t k = 0; k < n && r == 0; k++) {
		edit_path(edit, from, "half-%zu.o", k + 1);
		if (rename(from, edit_path(edit, to, "cut-%zu.o", halves[k].place)) < 0)
			return fault_errno(reterr, -errno, "%s", to);
		r = recall_half_keep(edit, halves[k].unit, to, reterr);
	}
	edit_path(edit, from, "half-0.o");
	return r == 0 && rename(from, edit_path(edit, to, "cut-0.o")) < 0 ?
		       fault_errno(reterr, -errno, "%s", to) :
		       r;
}

/* The hot module with its counts, and what is left of others. */
int pass_generate(struct edit *edit, struct fault *reterr)
{
	const size_t most = edit->data->n_modules + 1;
	_clean_(freep) struct codegen_input *inputs = calloc(most, sizeof(*inputs));
	_clean_(freep) struct half *halves = calloc(most, sizeof(*halves));
	const char *const more[] = { COUNTED_OPTIONS(0), "-pgo-analysis-map=all", NULL };
	ssize_t n;
	int r;

	if (!inputs || !halves)
		return fault_errno(reterr, -ENOMEM, "generating code");
	n = halves_find(edit, halves, reterr);
	if (n < 0)
		return (int)n;
	inputs[0] = (struct codegen_input){ "hot", edit->hot_bitcode.data, edit->hot_bitcode.size };
	for (ssize_t k = 0; k < n; k++)
		inputs[k + 1] = (struct codegen_input){ edit->data->modules[halves[k].unit].name,
							edit->units[halves[k].unit].cold.data,
							edit->units[halves[k].unit].cold.size };
	r = objects_generate(edit, inputs, (size_t)n + 1, more, "half", reterr);
	return r < 0 ? r : halves_place(edit, halves, (size_t)n, reterr);
}

int pass_layout(struct edit *edit, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	char **objects = objects_list(edit, edit->report->way ? "best" : "cut"), path[PATH_MAX];
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
	const char *const more[] = { COUNTED_OPTIONS(edit->report->way), LAST_OPTIONS, clusters,
				     "-pgo-analysis-map=br-prob", NULL };
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
