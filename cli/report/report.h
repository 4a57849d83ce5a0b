/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * report.h - the parts of `morph report`
 */

#include "cli/report/rows.h"
#include "monitor/record/recorder.h"
#include "profiles/export/places.h"

#define REPORT_MAX_FILTERS 32u
#define REPORT_MAX_PIDS 1024u

struct report_filter {
	enum dimension dimension;
	const char *pattern; /* fnmatch(3); borrowed */
};

struct report_request {
	struct ran_options ran;
	struct rows_options rows;
	struct report_filter filters[REPORT_MAX_FILTERS];
	size_t n_filters;
	char *const *paths; /* sample logs, or directories of them */
	size_t n_paths;
	const char *state_directory; /* of morphd; NULL: the configured one */
	struct recorder_options recorder;
	pid_t pids[REPORT_MAX_PIDS];
	double live_s; /* 0: nothing is sampled now */
	double least_percent;
	size_t skip, limit;		       /* limit 0: all */
	const struct place_exporter *exporter; /* NULL: rows are shown */
	const char *output;		       /* of the exporter; NULL: standard output */
	const char *page;		       /* where to write it as HTML; NULL: nowhere */
	bool is_by_told, by_name, json;
};

/* What is shown of it. */
struct report_view {
	const struct report_request *request;
	const struct ran *ran;
	const struct rows *rows; /* filtered and sorted */
	size_t first, end;	 /* of rows */
};

/** report_check() - can all of it be told apart? Before report_work(). 0; -EINVAL with @reterr */
int report_check(struct report_request *request, struct fault *reterr);
/** report_work() - all of it; -ENODATA: no samples; -errno; with @reterr */
int report_work(struct report_request *request, struct fault *reterr);

/** report_filter() - only the rows that were asked for, in the order that was asked for */
void report_filter(const struct report_request *request, const struct ran *ran, struct rows *rows);

/** report_text(), report_json() - on standard output; 0 or -ENOMEM */
int report_text(const struct report_view *view);
int report_json(const struct report_view *view);

/** report_percent() - of all that ran */
double report_percent(const struct ran *ran, double weight);
