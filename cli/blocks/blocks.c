/* SPDX-License-Identifier: Apache-2.0 */

/* morph blocks: a function's control flow with how often and how long each block ran, as a graph; hottest instructions. */

#include "cli/blocks/blocks.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/text.h"
#include "cli/shared/number.h"
#include "cli/shared/output.h"
#include "cli/verb.h"

#define DEFAULT_LIMIT 150u

struct request {
	struct analysis_request analysis;
	char *logs[ANALYSIS_MAX_LOGS];
	const char *output; /* of the picture, or of dot's text */
	double limit, hottest;
	bool dot, instructions, json;
};

static int option_take(int option, char *value, struct request *request)
{
	int r = analysis_option(option, value, request->logs, &request->analysis);

	if (r)
		return r < 0 ? verb_usage("blocks") : 0;
	switch (option) {
	case 'o': request->output = value; return 0;
	case 'D': request->dot = true; return 0;
	case 'i': request->instructions = true; return 0;
	case 'j': request->json = true; return 0;
	case 'l': return number_parse(value, 1, 1e6, &request->limit) ? 0 : verb_usage("blocks");
	case 'n': return number_parse(value, 1, 1e6, &request->hottest) ? 0 : verb_usage("blocks");
	default: return verb_usage("blocks");
	}
}

/* The list is a table; of a function there is a table, a picture, or the text that a picture is made of. */
static int request_complete(struct request *request, int n, char **words)
{
	bool graph = request->output || request->dot;

	if (n < 1 || n > 2 || !analysis_default("blocks", request->logs, &request->analysis))
		return verb_usage("blocks");
	if (request->hottest > 0 ? graph || request->instructions : n != 2)
		return verb_usage("blocks");
	if (request->json && graph)
		return verb_usage("blocks");
	request->analysis.program = words[0];
	request->analysis.function = words[1];
	return 0;
}

static int request_parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{ "samples", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'c' },
		{ "clock", required_argument, NULL, 'g' },
		{ "sidecar-dir", required_argument, NULL, 'd' },
		{ "output", required_argument, NULL, 'o' },
		{ "dot", no_argument, NULL, 'D' },
		{ "instructions", no_argument, NULL, 'i' },
		{ "limit", required_argument, NULL, 'l' },
		{ "hottest", required_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' },
		{ "debug-dir", required_argument, NULL, 'y' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "s:o:h", options, NULL)) != -1) {
		int r;

		if (c == 'h') {
			verb_help("blocks");
			return -1;
		}
		r = option_take(c, optarg, request);
		if (r)
			return r;
	}
	return request_complete(request, argc - optind, argv + optind);
}

static int graph_write(const struct request *request, const struct blocks_view *view, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	int r;

	if (request->dot) {
		r = blocks_dot(view, &bytes);
		if (r < 0)
			return fault_errno(reterr, r, "the graph");
	} else {
		r = blocks_svg(view, &bytes, reterr);
	}
	return r < 0 ? r : output_write(request->output, &bytes, reterr);
}

static int show(const struct request *request, const struct blocks_view *view, struct fault *reterr)
{
	int r;

	if (request->output || request->dot)
		return graph_write(request, view, reterr);
	if (request->hottest > 0)
		r = request->json ? hottest_json(view) : hottest_text(view);
	else
		r = request->json ? blocks_json(view) : blocks_text(view);
	return r < 0 ? fault_errno(reterr, r, "%s", request->analysis.program) : 0;
}

static int blocks(const struct request *request, struct fault *reterr)
{
	_clean_(freep) struct analysed_function *functions = NULL;
	_clean_(analysis_done) struct analysis analysis = { 0 };
	struct blocks_view view = { .analysis = &analysis,
				    .limit = (size_t)(request->hottest > 0 ? request->hottest :
									     request->limit),
				    .instructions = request->instructions };
	size_t n = 0;
	int r = analysis_make(&request->analysis, &analysis, reterr);

	if (r < 0)
		return r;
	r = analysis_functions(&analysis, &functions, &n);
	if (r < 0)
		return fault_errno(reterr, r, "%s", request->analysis.program);
	if (request->analysis.function) {
		view.chosen = analysed_find(&analysis, functions, n, request->analysis.function, reterr);
		if (!view.chosen)
			return -ENOENT;
	}
	return show(request, &view, reterr);
}

int blocks_run(int argc, char **argv)
{
	struct request request = { .limit = DEFAULT_LIMIT };
	struct fault fault;
	int r = request_parse(argc, argv, &request);

	if (r != 0)
		return r < 0 ? VERB_DONE : r;
	return blocks(&request, &fault) < 0 ? verb_fail("blocks", &fault) : VERB_DONE;
}
