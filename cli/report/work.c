/* SPDX-License-Identifier: Apache-2.0 */

/* The work of morph report: samples in, rows of them, what was asked for of these. */

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/report/export.h"
#include "cli/report/page.h"
#include "cli/shared/demangle.h"
#include "cli/shared/watch.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(_unused_ int signal)
{
	interrupted = 1;
}

/* --- which rows ----------------------------------------------------------------------------------- */

/* A procedure fits by its symbol, or as it is shown. */
static bool fits(const struct report_filter *filter, const char *cell)
{
	return cell &&
	       (fnmatch(filter->pattern, cell, 0) == 0 ||
		(filter->dimension == BY_PROCEDURE && fnmatch(filter->pattern, demangled(cell), 0) == 0));
}

static bool is_wanted(const struct report_request *request, const struct ran *ran, const struct row *row)
{
	if (report_percent(ran, row->weight) < request->least_percent)
		return false;
	for (size_t i = 0; i < request->n_filters; i++)
		if (!fits(&request->filters[i], row->cells[request->filters[i].dimension]))
			return false;
	return true;
}

static int by_name(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	for (unsigned i = 0; i < BY_END; i++) {
		int order = a->cells[i] ? strcmp(a->cells[i], b->cells[i]) : 0;

		if (order)
			return order;
	}
	return 0;
}

void report_filter(const struct report_request *request, const struct ran *ran, struct rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (is_wanted(request, ran, &rows->list[i]))
			rows->list[n++] = rows->list[i];
	rows->n = n;
	if (request->by_name && n)
		qsort(rows->list, n, sizeof(*rows->list), by_name);
}

/* --- where from ----------------------------------------------------------------------------------- */

static int sample_now(const struct report_request *request, struct ran *ran, struct fault *reterr)
{
	_clean_(recorder_freep) struct recorder *recorder = NULL;
	struct recorder_options options = request->recorder;
	struct sigaction action = { .sa_handler = on_interrupt };
	double end_s = clock_s(CLOCK_MONOTONIC) + request->live_s, left_s;
	int r;

	options.tells_processes = request->ran.processes;
	r = watch_open(&options, &recorder, reterr);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (r == 0 && !interrupted && (left_s = end_s - clock_s(CLOCK_MONOTONIC)) > 0)
		r = recorder_wait(recorder, -1, (int)ceil(MIN(left_s, 0.2) * 1e3), reterr);
	if (r == 0)
		r = recorder_stop(recorder, reterr);
	return r < 0 ? r : ran_add_recorder(ran, recorder, options.rate_hz, "now", reterr);
}

static int ran_read(const struct report_request *request, struct ran *ran, struct fault *reterr)
{
	int r = 0;

	if (request->live_s > 0)
		r = sample_now(request, ran, reterr);
	for (size_t i = 0; r == 0 && i < request->n_paths; i++)
		r = ran_add_path(ran, request->paths[i], reterr);
	if (r == 0 && !(request->live_s > 0) && !request->n_paths)
		r = ran_add_state(ran, request->state_directory, reterr);
	if (r == -ENOENT && !request->n_paths && !request->state_directory)
		r = fault_prefix(reterr, r,
				 "no morphd keeps samples here; name sample logs, or sample now with --live");
	if (r == 0 && ran_finish(ran) < 0)
		r = fault_errno(reterr, -ENOMEM, "samples");
	if (r == 0 && !ran->samples && ran->n_outside)
		r = fault_set(reterr, -ENODATA,
			      "no sample log is of the time asked for; %zu are of other times",
			      ran->n_outside);
	else if (r == 0 && !ran->samples)
		r = fault_set(reterr, -ENODATA, "there are no samples");
	return r;
}

static int show(const struct report_request *request, const struct ran *ran, struct rows *rows)
{
	struct report_view view = { .request = request, .ran = ran, .rows = rows };

	report_filter(request, ran, rows);
	view.first = MIN(request->skip, rows->n);
	view.end = request->limit && request->limit < rows->n - view.first ? view.first + request->limit :
									     rows->n;
	return request->json ? report_json(&view) : report_text(&view);
}

static int page_make(const struct report_request *request, const struct ran *ran, struct rows *rows,
		     struct fault *reterr)
{
	_clean_(made_generations_done) struct made_generations generations = { 0 };
	_clean_(call_tree_done) struct call_tree calls = { 0 };
	struct stalls stalls;
	struct heats heats;
	struct page page = { .ran = ran,
			     .rows = rows,
			     .stalls = &stalls,
			     .generations = &generations,
			     .heats = &heats,
			     .calls = &calls };

	report_filter(request, ran, rows);
	stalls_make(rows, ran->sum, &stalls);
	if (heats_make(ran, &heats) < 0 || call_tree_make(ran, request->rows.debug_dir, &calls) < 0)
		return fault_errno(reterr, -ENOMEM, "samples");
	if (made_generations_read(request->state_directory, &generations, NULL) < 0)
		page.no_generations = "No morphd keeps a record here that this user may read.";
	return page_write(&page, request->page, reterr);
}

/* Of processes is known how much time they took, not of what; only of what is sampled now is both known. */
int report_check(struct report_request *request, struct fault *reterr)
{
	unsigned known = 1u << BY_PROCESS | 1u << BY_UNIT | 1u << BY_USER, by;

	for (size_t i = 0; i < request->n_filters; i++)
		request->rows.by |= dimension_bits(request->filters[i].dimension);
	rows_needs(request->rows.by, &request->ran);
	by = request->rows.by;
	if (request->n_paths)
		known |= 1u << BY_LOG;
	if (!request->ran.processes || request->live_s > 0 || !(by & ~known))
		return 0;
	for (unsigned i = 0; i < BY_END; i++)
		if (by & ~known & 1u << i)
			return fault_set(reterr, -EINVAL,
					 "what ran before is known by process and unit, or by %s and what "
					 "belongs to it, not by both; --live samples both now",
					 dimension_at(i).name);
	return 0;
}

int report_work(struct report_request *request, struct fault *reterr)
{
	_clean_(ran_done) struct ran ran = { 0 };
	_clean_(rows_done) struct rows rows = { 0 };
	int r = 0;

	request->ran.sum = request->page;
	request->ran.stacks =
		request->page || (request->exporter && !request->is_by_told && !request->n_filters);
	if (request->page || request->output)
		r = file_write_check(request->page ?: request->output, reterr);
	if (r < 0)
		return r;
	ran_init(&request->ran, &ran);
	r = ran_read(request, &ran, reterr);
	if (r < 0)
		return r;
	r = rows_make(&ran, &request->rows, &rows);
	if (r == 0 && request->exporter && ran.stacks.n_nodes)
		return report_export_calls(&ran, &request->rows, request->exporter, request->output, reterr);
	if (r == 0 && request->exporter) {
		report_filter(request, &ran, &rows);
		return report_export(&ran, &rows, request->exporter, request->output, reterr);
	}
	if (r == 0 && request->page)
		return page_make(request, &ran, &rows, reterr);
	if (r == 0)
		r = show(request, &ran, &rows);
	return r < 0 ? fault_errno(reterr, r, "samples") : 0;
}
