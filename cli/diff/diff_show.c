/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/diff/diff.h"
#include "cli/shared/demangle.h"

static const char *const hows[] = {
	[NAMES_SAME] = "the same build",
	[NAMES_SHIPPED] = "generations, by the instructions of the shipped file that theirs stand for",
	[NAMES_PROBES] =
		"two builds, by the functions of their IR; what Morph copied counts for its function",
	[NAMES_SCOPES] = "two builds, by debug information, inlined or not",
	[NAMES_SYMBOLS] = "two builds, by symbols; what was inlined counts for its caller",
};
static const char *const how_names[] = { [NAMES_SAME] = "same-build",
					 [NAMES_SHIPPED] = "shipped",
					 [NAMES_PROBES] = "probes",
					 [NAMES_SCOPES] = "scopes",
					 [NAMES_SYMBOLS] = "symbols" };

static const char *verdict(const struct diff_row *row)
{
	return !row->is_sure ? "" : row->change > 0 ? "slower" : "faster";
}

static const char *seen_in(const struct diff_row *row)
{
	return !(row->samples[0] > 0) ? "only in the second" :
	       !(row->samples[1] > 0) ? "only in the first" :
					"";
}

/* Files that are another build: the rest needs no word. */
static void pairs_print(const struct diff_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n; i++) {
		const struct diff_pair *pair = &pairs->list[i];

		if (!pair->names || names_how(pair->names) == NAMES_SAME)
			continue;
		printf("matched  %s", SHOWN(pair->files[0]->path));
		if (strcmp(pair->files[0]->path, pair->files[1]->path) != 0)
			printf(" and %s", SHOWN(pair->files[1]->path));
		printf(": %s", hows[names_how(pair->names)]);
		if (names_renamed(pair->names))
			printf("; %zu renamed", names_renamed(pair->names));
		puts("");
		if (*names_note(pair->names))
			printf("         %s\n", names_note(pair->names));
	}
}

static void head_print(const struct diff_view *view)
{
	const struct diff_row *total = &view->result->total;

	printf("first    %zu sample logs, %.0f samples, %.3f s a log\n", view->columns->n[0],
	       total->samples[0], total->value[0]);
	printf("second   %zu sample logs, %.0f samples, %.3f s a log: %+.3f s (95 %%: %+.3f .. %+.3f)%s%s\n",
	       view->columns->n[1], total->samples[1], total->value[1], total->change,
	       total->change - total->error, total->change + total->error, total->is_sure ? ", " : "",
	       verdict(total));
	pairs_print(view->pairs);
	printf("unit     %s; intervals are 95 %%, by %s\n\n",
	       view->columns->shares ? "per cent of all samples of the set" : "seconds of a CPU in a log",
	       view->result->runs_used ?
		       "what scattered from log to log where that is more than the counts' error" :
		       "the counts' error");
}

static void change_cells(struct table *table, const struct diff_row *row, double factor)
{
	table_cell(table, "%.3f", factor * row->value[0]);
	table_cell(table, "%.3f", factor * row->value[1]);
	table_cell(table, "%+.3f", factor * row->change);
	table_cell(table, "%+.3f .. %+.3f", factor * (row->change - row->error),
		   factor * (row->change + row->error));
	table_cell(table, "%s", verdict(row));
}

int diff_text(const struct diff_view *view)
{
	_clean_(table_freep) struct table *table =
		table_new(">first|>second|>change|>95 %||function|module|");

	head_print(view);
	for (size_t i = 0; table && i < MIN(view->result->n_rows, view->n_shown); i++) {
		const struct diff_row *row = &view->result->rows[i];

		change_cells(table, row, view->columns->shares ? 100 : 1);
		table_cell(table, "%s", demangled(row->row->function));
		table_cell(table, "%s", row->row->module);
		table_cell(table, "%s", seen_in(row));
	}
	return table ? table_print(table, stdout) : -ENOMEM;
}

static void row_json(struct json *json, const char *key, const struct diff_row *row)
{
	json_object_begin(json, key);
	if (row->row) {
		json_string(json, "function", row->row->function);
		demangled_json(json, row->row->function);
		json_string(json, "module", row->row->module);
	}
	json_double(json, "first_samples", row->samples[0]);
	json_double(json, "second_samples", row->samples[1]);
	json_double(json, "first", row->value[0]);
	json_double(json, "second", row->value[1]);
	json_double(json, "change", row->change);
	json_double(json, "least", row->change - row->error);
	json_double(json, "most", row->change + row->error);
	json_string(json, "verdict", row->is_sure ? verdict(row) : NULL);
	json_object_end(json);
}

int diff_json(const struct diff_view *view)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_string(&json, "unit", view->columns->shares ? "share" : "seconds");
	json_u64(&json, "first_logs", view->columns->n[0]);
	json_u64(&json, "second_logs", view->columns->n[1]);
	row_json(&json, "total", &view->result->total);
	json_array_begin(&json, "files");
	for (size_t i = 0; i < view->pairs->n; i++) {
		const struct diff_pair *pair = &view->pairs->list[i];

		json_object_begin(&json, NULL);
		json_string(&json, "first", pair->files[0] ? pair->files[0]->path : NULL);
		json_string(&json, "second", pair->files[1] ? pair->files[1]->path : NULL);
		json_string(&json, "matched_by", pair->names ? how_names[names_how(pair->names)] : NULL);
		json_u64(&json, "renamed", pair->names ? names_renamed(pair->names) : 0);
		json_string(&json, "note", pair->names ? names_note(pair->names) : "");
		json_object_end(&json);
	}
	json_array_end(&json);
	json_array_begin(&json, "functions");
	for (size_t i = 0; i < MIN(view->result->n_rows, view->n_shown); i++)
		row_json(&json, NULL, &view->result->rows[i]);
	json_array_end(&json);
	json_object_end(&json);
	return 0;
}
