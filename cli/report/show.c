/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/daemon.h"
#include "cli/report/report.h"
#include "cli/shared/demangle.h"

#define NOTES_SHOWN 5u

double report_percent(const struct ran *ran, double weight)
{
	return ran->weight > 0 ? 100 * weight / ran->weight : 0;
}

/* --- text ----------------------------------------------------------------------------------------- */

static void head_print(const struct report_view *view)
{
	const struct ran *ran = view->ran;
	char first[DAEMON_TIME_TEXT], last[DAEMON_TIME_TEXT];
	double seen = (double)ran->user + (double)ran->kernel;

	printf("%" PRIu64 " samples", ran->samples);
	if (ran->is_clocked)
		printf(", %.1f s of CPU time", ran->weight);
	if (ran->n_logs)
		printf(", %zu log%s", ran->n_logs, ran->n_logs == 1 ? "" : "s");
	if (ran->last_ns)
		printf(", %s to %s", daemon_time((int64_t)ran->first_ns, first),
		       daemon_time((int64_t)ran->last_ns, last));
	if (seen > 0)
		printf("; user %.1f %%, kernel %.1f %%", 100 * (double)ran->user / seen,
		       100 * (double)ran->kernel / seen);
	puts("");
}

static int rows_print(const struct report_view *view)
{
	_clean_(table_freep) struct table *table = NULL;
	const struct rows *rows = view->rows;
	char headings[256] = ">samples|>share|>sum";
	double sum = 0;

	for (unsigned i = 0; i < BY_END; i++)
		if (rows->by & 1u << i) {
			strcat(headings, "|");
			strcat(headings, dimension_at(i).name);
		}
	table = table_new(headings);
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < view->end; i++) {
		sum += rows->list[i].weight;
		if (i < view->first)
			continue;
		table_cell(table, "%" PRIu64, rows->list[i].samples);
		table_cell(table, "%.2f %%", report_percent(view->ran, rows->list[i].weight));
		table_cell(table, "%.2f %%", report_percent(view->ran, sum));
		for (unsigned k = 0; k < BY_END; k++)
			if (rows->by & 1u << k)
				table_cell(table, "%s",
					   k == BY_PROCEDURE ? demangled(rows->list[i].cells[k]) :
							       rows->list[i].cells[k]);
	}
	return table_print(table, stdout);
}

static void tail_print(const struct report_view *view)
{
	const struct ran *ran = view->ran;
	const struct rows *rows = view->rows;

	if (view->end < rows->n)
		printf("\n%zu more; --skip %zu shows the next ones\n", rows->n - view->end, view->end);
	if (rows->n_notes)
		putchar('\n');
	for (size_t i = 0; i < rows->n_notes && i < NOTES_SHOWN; i++)
		printf("%s (%.1f %%) %s\n", SHOWN(rows->notes[i].path),
		       report_percent(ran, rows->notes[i].weight), procedures_sentence(rows->notes[i].lack));
	if (rows->n_notes > NOTES_SHOWN)
		printf("and %zu files more of which names are lacking\n", rows->n_notes - NOTES_SHOWN);
	if (ran->n_beyond)
		printf("\n%zu log%s taken whole: logs do not say when within their time a sample was\n",
		       ran->n_beyond,
		       ran->n_beyond == 1 ? " reaches beyond the time asked for and was" :
					    "s reach beyond the time asked for and were");
	if (ran->is_by_hour)
		puts("\nmorphd keeps whose time it was by the hour: hours that touch the time asked for are "
		     "whole");
	if (ran->is_kept && (ran->options.since_ns || ran->options.until_ns))
		puts("\nmorphd keeps how often a file was seen since the first time, not when: these are the "
		     "files that ran in that time, with all their samples");
	if (ran->n_damaged)
		printf("\n%zu file%s left out: %s\n", ran->n_damaged,
		       ran->n_damaged == 1 ? " was" : "s were; the first", ran->damage.text);
}

int report_text(const struct report_view *view)
{
	int r;

	head_print(view);
	putchar('\n');
	r = rows_print(view);
	if (r == 0)
		tail_print(view);
	return r;
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static void ran_json(const struct ran *ran, struct json *json)
{
	json_u64(json, "samples", ran->samples);
	json_double(json, "cpu_s", ran->is_clocked ? ran->weight : NAN);
	json_string(json, "source", ran->is_kept || ran->is_by_hour ? "morphd" : "samples");
	json_u64(json, "logs", ran->n_logs);
	json_u64(json, "logs_outside", ran->n_outside);
	json_u64(json, "logs_beyond", ran->n_beyond);
	json_u64(json, "damaged_files", ran->n_damaged);
	json_u64(json, "first_ns", ran->first_ns);
	json_u64(json, "last_ns", ran->last_ns);
	json_u64(json, "fired", ran->fired);
	json_u64(json, "idle", ran->idle);
	json_u64(json, "user", ran->user);
	json_u64(json, "kernel", ran->kernel);
}

static void row_json(const struct report_view *view, const struct row *row, double sum, struct json *json)
{
	json_object_begin(json, NULL);
	for (unsigned i = 0; i < BY_END; i++)
		if (view->rows->by & 1u << i)
			json_string(json, dimension_at(i).name, row->cells[i]);
	if (view->rows->by & 1u << BY_PROCEDURE)
		demangled_json(json, row->cells[BY_PROCEDURE]);
	json_u64(json, "samples", row->samples);
	json_double(json, "cpu_s", view->ran->is_clocked ? row->weight : NAN);
	json_double(json, "share_percent", report_percent(view->ran, row->weight));
	json_double(json, "sum_percent", report_percent(view->ran, sum));
	json_object_end(json);
}

int report_json(const struct report_view *view)
{
	struct json json = json_to(stdout);
	const struct rows *rows = view->rows;
	double sum = 0;

	json_object_begin(&json, NULL);
	ran_json(view->ran, &json);
	json_u64(&json, "n_rows", rows->n);
	json_array_begin(&json, "rows");
	for (size_t i = 0; i < view->end; i++) {
		sum += rows->list[i].weight;
		if (i >= view->first)
			row_json(view, &rows->list[i], sum, &json);
	}
	json_array_end(&json);
	json_array_begin(&json, "unnamed");
	for (size_t i = 0; i < rows->n_notes; i++) {
		json_object_begin(&json, NULL);
		json_string(&json, "image", rows->notes[i].path);
		json_string(&json, "why", procedures_sentence(rows->notes[i].lack));
		json_double(&json, "share_percent", report_percent(view->ran, rows->notes[i].weight));
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	return 0;
}
