/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/report/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/call_tree.h"
#include "cli/shared/demangle.h"
#include "cli/shared/output.h"

struct list {
	struct export_place *places; /* owned */
	char **files;		     /* owned; names of sources, by place; NULL: none */
	size_t n;
};

static void list_done(struct list *list)
{
	for (size_t i = 0; list->files && i < list->n; i++)
		free(list->files[i]);
	free(list->files);
	free(list->places);
}

/* "?" and "-" stand for what is not known. */
static const char *known(const char *cell)
{
	return cell && strcmp(cell, "?") != 0 && strcmp(cell, "-") != 0 ? cell : NULL;
}

/* "FILE:LINE" of a row, if it has one. */
static int line_take(const char *cell, char **retfile, struct export_place *place)
{
	const char *colon = known(cell) ? strrchr(cell, ':') : NULL;

	if (!colon)
		return 0;
	*retfile = strndup(cell, (size_t)(colon - cell));
	place->file = *retfile;
	place->line = (uint32_t)strtoul(colon + 1, NULL, 10);
	return *retfile ? 0 : -ENOMEM;
}

static int list_make(const struct ran *ran, const struct rows *rows, struct list *ret)
{
	int r = 0;

	ret->places = calloc(rows->n + 1, sizeof(*ret->places));
	ret->files = calloc(rows->n + 1, sizeof(*ret->files));
	if (!ret->places || !ret->files)
		return -ENOMEM;
	for (; r == 0 && ret->n < rows->n; ret->n++) {
		const struct row *row = &rows->list[ret->n];
		const char *name = known(row->cells[BY_PROCEDURE]);

		ret->places[ret->n] = (struct export_place){
			.image = row->cells[BY_IMAGE],
			.build_id = row->module->identity.build_id,
			.procedure = demangled(name),
			.symbol = name,
			.address = row->address,
			.procedure_offset = row->procedure_offset,
			.user = known(row->cells[BY_USER]),
			.log = row->cells[BY_LOG],
			.samples = row->samples,
			.seconds = ran->is_clocked ? row->weight : 0,
		};
		r = line_take(row->cells[BY_LINE], &ret->files[ret->n], &ret->places[ret->n]);
	}
	return r;
}

int report_export(const struct ran *ran, const struct rows *rows, const struct place_exporter *exporter,
		  const char *output, struct fault *reterr)
{
	_clean_(list_done) struct list list = { 0 };
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct export_places places = { .start_ns = ran->first_ns,
					.duration_ns = ran->last_ns - ran->first_ns,
					.has_seconds = ran->is_clocked };
	int r = list_make(ran, rows, &list);

	places.list = list.places;
	places.n = list.n;
	if (r == 0)
		r = exporter->run(&places, &bytes);
	return r < 0 ? fault_errno(reterr, r, "exporting") : output_write(output, &bytes, reterr);
}

/* --- calls ---------------------------------------------------------------------------------------- */

/* Time without a stack is a place that nobody called: then shares are of all that ran. */
static size_t call_take(const struct ran *ran, const struct call_tree *calls, struct export_place *list,
			struct export_call *to)
{
	size_t n = 0;

	for (size_t i = 0; i < calls->n_places; i++) {
		const struct call_place *place = &calls->places[i];

		list[i] = (struct export_place){ .image = place->image,
						 .build_id = place->identity->build_id,
						 .procedure = demangled(place->procedure),
						 .symbol = place->procedure,
						 .address = place->address,
						 .procedure_offset = place->procedure_offset,
						 .is_process = (int)place->identity->kind == STACK_PROCESS };
	}
	for (; n < ran->stacks.n_nodes; n++) {
		const struct stack_node *node = &ran->stacks.nodes[n];

		to[n] = (struct export_call){ calls->place_of[n],
					      node->parent == STACKS_ROOT ? EXPORT_OUTERMOST : node->parent,
					      node->count, ran->is_clocked ? node->weight : 0 };
	}
	if (ran->samples_stackless) {
		list[calls->n_places] = (struct export_place){ .image = "[no stack]" };
		to[n++] = (struct export_call){ (uint32_t)calls->n_places, EXPORT_OUTERMOST,
						ran->samples_stackless,
						ran->is_clocked ? ran->weight_stackless : 0 };
	}
	return n;
}

int report_export_calls(const struct ran *ran, const struct rows_options *options,
			const struct place_exporter *exporter, const char *output, struct fault *reterr)
{
	_clean_(call_tree_done) struct call_tree calls = { 0 };
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	_clean_(freep) struct export_place *list = NULL;
	_clean_(freep) struct export_call *to = calloc(ran->stacks.n_nodes + 1, sizeof(*to));
	struct export_places places = { .calls = to,
					.start_ns = ran->first_ns,
					.duration_ns = ran->last_ns - ran->first_ns,
					.has_seconds = ran->is_clocked };
	int r = to ? call_tree_make(ran, options->debug_dir, &calls) : -ENOMEM;

	if (r == 0)
		list = calloc(calls.n_places + 1, sizeof(*list));
	if (r < 0 || !list)
		return fault_errno(reterr, -ENOMEM, "exporting");
	places.n_calls = call_take(ran, &calls, list, to);
	places.list = list;
	places.n = calls.n_places + (places.n_calls > ran->stacks.n_nodes);
	r = exporter->run(&places, &bytes);
	return r < 0 ? fault_errno(reterr, r, "exporting") : output_write(output, &bytes, reterr);
}
