/* SPDX-License-Identifier: Apache-2.0 */

/* morph annotate: how often each instruction ran, how long it took, and what it waited for. */

#include "cli/annotate/view.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/text.h"
#include "cli/shared/number.h"
#include "cli/verb.h"

#define DEFAULT_TOP 20u

struct request {
	struct analysis_request analysis;
	const char *function;
	char *logs[ANALYSIS_MAX_LOGS];
	double top;
	bool all, json, lines;
};

static int option_take(int option, char *value, struct request *request)
{
	int r = analysis_option(option, value, request->logs, &request->analysis);

	if (r)
		return r < 0 ? verb_usage("annotate") : 0;
	switch (option) {
	case 'n': return number_parse(value, 1, 1e9, &request->top) ? 0 : verb_usage("annotate");
	case 'a': request->all = true; return 0;
	case 'j': request->json = true; return 0;
	case 'l': request->lines = true; return 0;
	default: return verb_usage("annotate");
	}
}

static int request_parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{ "samples", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'c' },
		{ "clock", required_argument, NULL, 'g' },
		{ "faults", required_argument, NULL, 'f' },
		{ "top", required_argument, NULL, 'n' },
		{ "sidecar-dir", required_argument, NULL, 'd' },
		{ "debug-dir", required_argument, NULL, 'y' },
		{ "all", no_argument, NULL, 'a' },
		{ "lines", no_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "s:n:ah", options, NULL)) != -1) {
		int r;

		if (c == 'h') {
			verb_help("annotate");
			return -1;
		}
		r = option_take(c, optarg, request);
		if (r)
			return r;
	}
	if (optind >= argc || argc - optind > 2 || (request->lines && argc - optind < 2) ||
	    !analysis_default("annotate", request->logs, &request->analysis))
		return verb_usage("annotate");
	request->analysis.program = argv[optind];
	request->function = request->analysis.function = argv[optind + 1];
	return 0;
}

static int show(const struct request *request, struct fault *reterr)
{
	_clean_(freep) struct analysed_function *functions = NULL;
	_clean_(analysis_done) struct analysis analysis = { 0 };
	_clean_(source_freep) struct source *source = NULL;
	struct annotate_view view = { .analysis = &analysis,
				      .n_shown = (size_t)request->top,
				      .all_blocks = request->all };
	int r = analysis_make(&request->analysis, &analysis, reterr);

	if (r < 0)
		return r;
	r = analysis_functions(&analysis, &functions, &view.n_functions);
	if (r < 0)
		return fault_errno(reterr, r, "%s", request->analysis.program);
	view.functions = functions;
	if (request->function) {
		view.chosen =
			analysed_find(&analysis, functions, view.n_functions, request->function, reterr);
		if (!view.chosen)
			return -ENOENT;
	}
	r = request->lines ?
		    source_read(image_path(analysis.image), request->analysis.debug_dir, &source, reterr) :
		    0;
	if (r < 0)
		return r;
	view.source = source;
	r = request->json ? annotate_json(&view) : annotate_text(&view);
	return r < 0 ? fault_errno(reterr, r, "%s", request->analysis.program) : 0;
}

int annotate_run(int argc, char **argv)
{
	struct request request = { .top = DEFAULT_TOP };
	struct fault fault;
	int r = request_parse(argc, argv, &request);

	if (r != 0)
		return r < 0 ? VERB_DONE : r;
	return show(&request, &fault) < 0 ? verb_fail("annotate", &fault) : VERB_DONE;
}
