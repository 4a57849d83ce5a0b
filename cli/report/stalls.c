/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/report/stalls.h"

#include <errno.h>
#include <string.h>

#include "cli/shared/analysis.h"

#define LEAST_SAMPLES 20.0 /* of a function whose stalls are told: chance is then a fifth */

/* Is the row's image a file here, and its procedure known? */
static bool is_procedure(const struct row *row)
{
	const char *name = row->cells[BY_PROCEDURE];

	return row->cells[BY_IMAGE][0] == '/' && strcmp(name, "?") != 0 && strcmp(name, "-") != 0;
}

/* All of the list that are in the file of @first. */
static void file_look(struct stalls *stalls, size_t first, const struct sample_log *log, double *clock_hz)
{
	const char *image = stalls->list[first].row->cells[BY_IMAGE];
	struct analysis_request request = { .program = image,
					    .function = stalls->list[first].row->cells[BY_PROCEDURE],
					    .log = log,
					    .clock_hz = *clock_hz };
	_clean_(freep) struct analysed_function *functions = NULL;
	_clean_(analysis_done) struct analysis analysis = { 0 };
	struct fault fault = { "" };
	size_t n = 0;
	int r = analysis_make(&request, &analysis, &fault);

	if (r == 0) {
		fault.text[0] = '\0'; /* what was told on the way to a map is no lack */
		*clock_hz = analysis.clock_hz;
		r = analysis_functions(&analysis, &functions, &n);
		if (r < 0)
			fault_errno(&fault, r, "%s", image);
	}
	for (size_t i = first; i < stalls->n; i++) {
		struct stall *stall = &stalls->list[i];
		const struct analysed_function *function;

		if (strcmp(stall->row->cells[BY_IMAGE], image) != 0)
			continue;
		stall->lack = fault;
		if (r < 0)
			continue;
		function = analysed_find(&analysis, functions, n, stall->row->cells[BY_PROCEDURE], NULL);
		if (function)
			stall->summary = function->summary;
		else
			fault_set(&stall->lack, -ENOENT, "its code was not found");
	}
}

void stalls_make(const struct rows *rows, const struct sample_log *log, struct stalls *ret)
{
	double clock_hz = 0;
	size_t n_files = 0;

	*ret = (struct stalls){ 0 };
	for (size_t i = 0; log && i < rows->n && ret->n < STALLS_PROCEDURES; i++)
		if (is_procedure(&rows->list[i]))
			ret->list[ret->n++] = (struct stall){ .row = &rows->list[i] };
	for (size_t i = 0; i < ret->n; i++) {
		bool is_first = true;

		for (size_t k = 0; k < i && is_first; k++)
			is_first = strcmp(ret->list[k].row->cells[BY_IMAGE],
					  ret->list[i].row->cells[BY_IMAGE]) != 0;
		if (!is_first)
			continue;
		if (n_files++ < STALLS_FILES)
			file_look(ret, i, log, &clock_hz);
		else
			fault_set(&ret->list[i].lack, -E2BIG, "not looked into: `morph annotate` tells");
	}
	for (size_t i = 0; i < ret->n; i++)
		if (!ret->list[i].lack.text[0] && !(ret->list[i].summary.samples >= LEAST_SAMPLES))
			fault_set(&ret->list[i].lack, -ENODATA, "too few samples");
}
