/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/report/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

		ret->places[ret->n] = (struct export_place){
			.image = row->cells[BY_IMAGE],
			.build_id = row->module->identity.build_id,
			.procedure = known(row->cells[BY_PROCEDURE]),
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
