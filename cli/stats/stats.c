/* SPDX-License-Identifier: Apache-2.0 */

/* morph stats: variation over many sample logs, procedure by procedure; which one explains the slowest run. */

#include "cli/stats/stats.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/shared/demangle.h"
#include "cli/shared/number.h"
#include "cli/shared/sampled_file.h"
#include "cli/verb.h"
#include "profiles/samples/sample_log.h"

#define MAX_LOGS 4096u
#define MAX_PROGRAMS 64u
#define DEFAULT_TOP 20u
#define DEFAULT_LEAST 1.0 /* per cent */
#define EXPLAINED 5u

struct request {
	char *programs[MAX_PROGRAMS];
	size_t n_programs;
	char *const *logs;
	size_t n_logs;
	double top, least_percent;
	bool modules, json;
};

/* What is read, and must outlive the tally. */
struct reading {
	const struct request *request;
	struct image *programs[MAX_PROGRAMS];
	bool seen[MAX_PROGRAMS];
	struct sample_log **logs;
	struct stats_run *runs;
	struct sampled_files files;
	struct tally tally;
};

/* --- reading -------------------------------------------------------------------------------------- */

static void reading_done(struct reading *reading)
{
	for (size_t i = 0; i < reading->request->n_programs; i++)
		image_free(reading->programs[i]);
	for (size_t i = 0; reading->logs && i < reading->request->n_logs; i++)
		sample_log_free(reading->logs[i]);
	free(reading->logs);
	free(reading->runs);
	sampled_files_done(&reading->files);
	tally_done(&reading->tally);
}

static bool is_asked_for(struct reading *reading, const struct sample_module *module)
{
	return sampled_is_asked_for(module, reading->programs, reading->request->n_programs, reading->seen);
}

/* Builds of one path are apart: "/bin/x (build 0123456789ab)". */
static const char *label_of(struct reading *reading, const struct sampled_file *file)
{
	size_t n_builds = 0, room = strlen(file->path) + 32;
	char id[BUILD_ID_MAX_TEXT], *text;

	for (size_t i = 0; i < reading->files.n; i++)
		n_builds += strcmp(reading->files.list[i]->path, file->path) == 0;
	if (n_builds < 2)
		return file->path;
	text = arena_alloc(reading->tally.arena, room, 1);
	if (text)
		snprintf(text, room, "%s (build %.12s)", file->path,
			 file->build_id.size ? build_id_text(&file->build_id, id) : "unknown");
	return text;
}

static int module_tally(struct reading *reading, const struct sample_module *module, size_t column)
{
	struct sampled_file *file = sampled_files_find(&reading->files, module);
	const char *label = file ? label_of(reading, file) : NULL;
	int r = label ? 0 : -ENOMEM;

	if (r == 0 && (reading->request->modules || module->kind != SAMPLE_MODULE_FILE))
		return tally_add(&reading->tally, label,
				 module->kind == SAMPLE_MODULE_FILE ? "" :
								      sample_module_kind_name(module->kind),
				 column, (double)module->total);
	for (size_t i = 0; r == 0 && i < module->n_counts; i++)
		r = tally_add(&reading->tally, label, sampled_function(file, module->counts[i].offset),
			      column, (double)module->counts[i].count);
	return r;
}

/* All files are known before the first is named, since builds of one path are told apart. */
static int logs_tally(struct reading *reading)
{
	size_t n = reading->request->n_logs;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < reading->logs[i]->n_modules; k++)
			if (is_asked_for(reading, &reading->logs[i]->modules[k]) &&
			    !sampled_files_find(&reading->files, &reading->logs[i]->modules[k]))
				return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		for (size_t k = 0; r == 0 && k < reading->logs[i]->n_modules; k++) {
			const struct sample_module *module = &reading->logs[i]->modules[k];

			if (is_asked_for(reading, module)) {
				reading->runs[i].samples += (double)module->total;
				r = module_tally(reading, module, i);
			}
		}
	for (size_t i = 0; i < n; i++)
		reading->runs[i].seconds = reading->runs[i].samples / reading->runs[i].rate_hz;
	return r == 0 ? tally_settle(&reading->tally) : r;
}

static int reading_open(struct reading *reading, struct fault *reterr)
{
	const struct request *request = reading->request;
	int r = tally_init(&reading->tally, request->n_logs);

	reading->logs = calloc(request->n_logs, sizeof(struct sample_log *));
	reading->runs = calloc(request->n_logs, sizeof(*reading->runs));
	reading->files.copies = request->programs;
	reading->files.n_copies = request->n_programs;
	if (r < 0 || !reading->logs || !reading->runs)
		return fault_errno(reterr, -ENOMEM, "sample logs");
	for (size_t i = 0; r == 0 && i < request->n_programs; i++)
		r = image_open(request->programs[i], &reading->programs[i], reterr);
	for (size_t i = 0; r == 0 && i < request->n_logs; i++) {
		r = tally_log_read(request->logs[i], &reading->logs[i], reterr);
		if (r == 0)
			reading->runs[i] = (struct stats_run){ .path = request->logs[i],
							       .rate_hz = reading->logs[i]->rate_hz };
	}
	if (r < 0)
		return r;
	if (logs_tally(reading) < 0)
		return fault_errno(reterr, -ENOMEM, "sample logs");
	for (size_t i = 0; i < request->n_programs; i++)
		if (!reading->seen[i])
			return fault_set(
				reterr, -ENODATA,
				"%s: no log has samples of this very file; if it was replaced since, "
				"name the build that ran",
				request->programs[i]);
	return 0;
}

/* --- showing -------------------------------------------------------------------------------------- */

static void head_print(const struct stats *stats)
{
	const struct stats_row *why[EXPLAINED];
	size_t n = stats_explains(stats, why, EXPLAINED);
	const struct stats_run *slow = &stats->runs[stats->slowest];
	double samples = 0;

	for (size_t i = 0; i < stats->n_runs; i++)
		samples += stats->runs[i].samples;
	printf("runs     %zu sample logs, %.0f samples; times are seconds of a CPU\n", stats->n_runs,
	       samples);
	printf("slowest  %s: %.3f s, %.3f more than the others' mean", SHOWN(slow->path), slow->seconds,
	       stats->more);
	puts(stats->more > 2 * stats->more_error ? "" : ", which may be chance");
	for (size_t i = 0; i < n; i++)
		printf("         %s took %+.3f s (95 %%: %+.3f .. %+.3f), %.0f %% of that\n",
		       SHOWN(why[i]->row->function[0] ? demangled(why[i]->row->function) :
							why[i]->row->module),
		       why[i]->more, why[i]->more - 1.96 * why[i]->more_error,
		       why[i]->more + 1.96 * why[i]->more_error, 100 * why[i]->more / stats->more);
	if (!n)
		puts("         no procedure surely took longer in it");
	puts("");
}

static int stats_print(const struct stats *stats, const struct request *request)
{
	_clean_(table_freep) struct table *table =
		table_new(">range|>sum|>share|>runs|>mean|>deviation|>by chance|>min|>max||function|module");

	head_print(stats);
	for (size_t i = 0; table && i < MIN(stats->n_rows, (size_t)request->top); i++) {
		const struct stats_row *row = &stats->rows[i];

		table_cell(table, "%.2f %%", 100 * row->range);
		table_cell(table, "%.3f", row->sum);
		table_cell(table, "%.2f %%", 100 * row->sum / stats->sum);
		table_cell(table, "%zu", row->n_runs);
		table_cell(table, "%.4f", row->mean);
		table_cell(table, "%.4f", row->deviation);
		table_cell(table, "%.4f", row->by_chance);
		table_cell(table, "%.4f", row->least);
		table_cell(table, "%.4f", row->most);
		table_cell(table, "%s", stats_is_real(stats, row) ? "varies" : "");
		table_cell(table, "%s", demangled(row->row->function));
		table_cell(table, "%s", row->row->module);
	}
	if (!table || table_print(table, stdout) < 0)
		return -ENOMEM;
	if (stats->n_small)
		printf("\n%zu procedures with less than %g %% of the time each are left out (--least)\n",
		       stats->n_small, request->least_percent);
	return 0;
}

static void row_json(struct json *json, const struct stats *stats, const struct stats_row *row)
{
	json_object_begin(json, NULL);
	json_string(json, "function", row->row->function[0] ? row->row->function : NULL);
	demangled_json(json, row->row->function);
	json_string(json, "module", row->row->module);
	json_double(json, "normalized_range", row->range);
	json_double(json, "samples", row->samples);
	json_double(json, "sum", row->sum);
	json_double(json, "share", row->sum / stats->sum);
	json_u64(json, "runs", row->n_runs);
	json_double(json, "mean", row->mean);
	json_double(json, "deviation", row->deviation);
	json_double(json, "deviation_by_chance", row->by_chance);
	json_double(json, "min", row->least);
	json_double(json, "max", row->most);
	json_double(json, "chance", row->chance);
	json_bool(json, "varies", stats_is_real(stats, row));
	json_double(json, "more_in_slowest", row->more);
	json_double(json, "more_in_slowest_error", row->more_error);
	json_array_begin(json, "samples_by_run");
	for (size_t i = 0; i < stats->n_runs; i++)
		json_double(json, NULL, row->row->samples[i]);
	json_array_end(json);
	json_object_end(json);
}

static void slowest_json(struct json *json, const struct stats *stats)
{
	const struct stats_row *why[EXPLAINED];
	size_t n = stats_explains(stats, why, EXPLAINED);

	json_object_begin(json, "slowest");
	json_string(json, "log", stats->runs[stats->slowest].path);
	json_double(json, "more", stats->more);
	json_double(json, "more_error", stats->more_error);
	json_array_begin(json, "explained_by");
	for (size_t i = 0; i < n; i++) {
		json_object_begin(json, NULL);
		json_string(json, "function", why[i]->row->function[0] ? why[i]->row->function : NULL);
		demangled_json(json, why[i]->row->function);
		json_string(json, "module", why[i]->row->module);
		json_double(json, "more", why[i]->more);
		json_double(json, "more_error", why[i]->more_error);
		json_double(json, "share", why[i]->more / stats->more);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void stats_json(const struct stats *stats, const struct request *request)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_string(&json, "unit", "seconds");
	json_array_begin(&json, "runs");
	for (size_t i = 0; i < stats->n_runs; i++) {
		json_object_begin(&json, NULL);
		json_string(&json, "log", stats->runs[i].path);
		json_double(&json, "samples", stats->runs[i].samples);
		json_double(&json, "rate_hz", stats->runs[i].rate_hz);
		json_double(&json, "time", stats->runs[i].seconds);
		json_object_end(&json);
	}
	json_array_end(&json);
	slowest_json(&json, stats);
	json_array_begin(&json, "procedures");
	for (size_t i = 0; i < MIN(stats->n_rows, (size_t)request->top); i++)
		row_json(&json, stats, &stats->rows[i]);
	json_array_end(&json);
	json_u64(&json, "left_out", stats->n_small);
	json_object_end(&json);
}

static int show(const struct request *request, struct fault *reterr)
{
	_clean_(reading_done) struct reading reading = { .request = request };
	_clean_(stats_done) struct stats stats = { 0 };
	int r = reading_open(&reading, reterr);

	if (r < 0)
		return r;
	r = stats_make(&reading.tally, reading.runs, request->least_percent / 100, &stats);
	if (r == 0 && request->json)
		stats_json(&stats, request);
	else if (r == 0)
		r = stats_print(&stats, request);
	return r < 0 ? fault_errno(reterr, r, "statistics") : 0;
}

/* --- options -------------------------------------------------------------------------------------- */

static int option_take(int option, char *value, struct request *request)
{
	switch (option) {
	case 'p':
		if (request->n_programs == MAX_PROGRAMS)
			return verb_usage("stats");
		request->programs[request->n_programs++] = value;
		return 0;
	case 'm': request->modules = true; return 0;
	case 'l': return number_parse(value, 0, 100, &request->least_percent) ? 0 : verb_usage("stats");
	case 'n': return number_parse(value, 1, 1e9, &request->top) ? 0 : verb_usage("stats");
	case 'j': request->json = true; return 0;
	default: return verb_usage("stats");
	}
}

int stats_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "program", required_argument, NULL, 'p' },
		{ "modules", no_argument, NULL, 'm' },
		{ "least", required_argument, NULL, 'l' },
		{ "top", required_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct request request = { .top = DEFAULT_TOP, .least_percent = DEFAULT_LEAST };
	struct fault fault;
	int c, r;

	while ((c = getopt_long(argc, argv, "n:h", options, NULL)) != -1) {
		if (c == 'h')
			return verb_help("stats");
		r = option_take(c, optarg, &request);
		if (r)
			return r;
	}
	request.logs = argv + optind;
	request.n_logs = (size_t)(argc - optind);
	if (request.n_logs > MAX_LOGS)
		return verb_usage("stats");
	if (request.n_logs < 2) {
		fault_set(&fault, -EINVAL,
			  "variation needs two sample logs or more, of runs that did the same");
		return verb_refuse("stats", &fault);
	}
	return show(&request, &fault) < 0 ? verb_fail("stats", &fault) : VERB_DONE;
}
