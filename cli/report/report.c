/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph report: where the machine's time went, by image, procedure, line, user, ... The samples are those of sample
 * logs, of the interval that begins now, or what morphd keeps.
 */

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/report/report.h"
#include "cli/shared/moment.h"
#include "cli/shared/number.h"
#include "cli/verb.h"

#define DEFAULT_RATE_HZ 999.0
#define DEFAULT_LIMIT 30u

enum {
	OPTION_DEBUG_DIR = 1000,
	OPTION_FORMAT,
	OPTION_HTML,
	OPTION_OUTPUT,
	OPTION_LEAST,
	OPTION_SINCE,
	OPTION_SKIP,
	OPTION_STATE,
	OPTION_UNTIL
};

static int bad_value(const char *option, const char *value)
{
	fprintf(stderr, "morph report: %s: \"%s\" is not usable; see morph-report(1)\n", option,
		SHOWN(value));
	return VERB_USAGE;
}

static int by_take(const char *value, struct report_request *request)
{
	struct fault fault;

	return dimensions_parse(value, &request->rows.by, &fault) < 0 ? verb_refuse("report", &fault) : 0;
}

/* "image=*libc*" */
static int filter_take(const char *value, struct report_request *request)
{
	const char *equals = strchr(value, '=');
	struct report_filter *filter = &request->filters[request->n_filters];

	if (!equals || request->n_filters == REPORT_MAX_FILTERS)
		return bad_value("--only", value);
	for (unsigned i = 0; i < BY_END; i++) {
		const char *name = dimension_at(i).name;

		if (strlen(name) == (size_t)(equals - value) && memcmp(name, value, strlen(name)) == 0) {
			*filter = (struct report_filter){ (enum dimension)i, equals + 1 };
			request->n_filters++;
			return 0;
		}
	}
	return bad_value("--only", value);
}

static int size_take(const char *option, const char *value, size_t *ret)
{
	double number;

	if (!number_parse(value, 0, 1e12, &number))
		return bad_value(option, value);
	*ret = (size_t)number;
	return 0;
}

static int moment_take(const char *option, const char *value, uint64_t *ret)
{
	return moment_parse(value, clock_ns(CLOCK_REALTIME), ret) ? 0 : bad_value(option, value);
}

static int sort_take(const char *value, struct report_request *request)
{
	request->by_name = strcmp(value, "name") == 0;
	return request->by_name || strcmp(value, "share") == 0 ? 0 : bad_value("--sort", value);
}

static int pid_take(const char *value, struct report_request *request)
{
	double number;

	if (!number_parse(value, 1, INT32_MAX, &number) || request->recorder.n_pids == REPORT_MAX_PIDS)
		return bad_value("--pid", value);
	request->pids[request->recorder.n_pids++] = (pid_t)number;
	return 0;
}

static int format_take(const char *value, struct report_request *request)
{
	struct fault fault;

	request->exporter = place_exporter_find(value, &fault);
	return request->exporter ? 0 : verb_refuse("report", &fault);
}

static int option_take(int option, const char *value, struct report_request *request)
{
	switch (option) {
	case 'b': request->is_by_told = true; return by_take(value, request);
	case OPTION_FORMAT: return format_take(value, request);
	case OPTION_OUTPUT: request->output = value; return 0;
	case OPTION_HTML: request->page = value; return 0;
	case 'o': return filter_take(value, request);
	case 's': return sort_take(value, request);
	case 'n': return size_take("--limit", value, &request->limit);
	case OPTION_SKIP: return size_take("--skip", value, &request->skip);
	case OPTION_LEAST:
		return number_parse(value, 0, 100, &request->least_percent) ? 0 : bad_value("--least", value);
	case OPTION_SINCE: return moment_take("--since", value, &request->ran.since_ns);
	case OPTION_UNTIL: return moment_take("--until", value, &request->ran.until_ns);
	case OPTION_STATE: request->state_directory = value; return 0;
	case OPTION_DEBUG_DIR: request->rows.debug_dir = value; return 0;
	case 'l': return number_parse(value, 0.1, 86400, &request->live_s) ? 0 : bad_value("--live", value);
	case 'p': return pid_take(value, request);
	case 'G': request->recorder.cgroup = value; return 0;
	case 'F':
		return number_parse(value, 1, 100000, &request->recorder.rate_hz) ? 0 :
										    bad_value("-F", value);
	case 'j': request->json = true; return 0;
	default: return verb_usage("report");
	}
}

/* A form for other tools has all rows, and of what is told apart what it can say: lines, procedures, users, logs. */
static int export_complete(struct report_request *request)
{
	if (!request->exporter)
		return request->output ? verb_usage("report") : 0;
	if (request->page || request->json || request->by_name || request->skip ||
	    (request->limit && request->limit != SIZE_MAX))
		return verb_usage("report");
	request->rows.by |= dimension_bits(request->exporter->of_addresses ? BY_ADDRESS : BY_IMAGE);
	if (request->exporter->is_binary && !request->output && isatty(STDOUT_FILENO)) {
		fprintf(stderr, "morph report: %s's form is binary; name a file with --output\n",
			request->exporter->name);
		return VERB_USAGE;
	}
	return 0;
}

/* What is filtered by must be told apart. Of sources there is one. */
static int request_complete(struct report_request *request)
{
	unsigned sources =
		!!request->n_paths + (request->live_s > 0) + (request->state_directory && !request->page);

	if (sources > 1 || ((request->recorder.n_pids || request->recorder.cgroup) && !(request->live_s > 0)))
		return verb_usage("report");
	if (request->recorder.n_pids && request->recorder.cgroup)
		return verb_usage("report");
	if (request->page && (request->json || request->is_by_told || request->by_name || request->skip)) {
		fputs("morph report: --html shows programs and functions, most first; of --by, --sort, "
		      "--skip and "
		      "--json there is nothing in it\n",
		      stderr);
		return VERB_USAGE;
	}
	if (request->ran.until_ns && request->ran.until_ns < request->ran.since_ns) {
		fputs("morph report: --until lies before --since\n", stderr);
		return VERB_USAGE;
	}
	if (request->live_s > 0 && (request->ran.until_ns || request->ran.since_ns)) {
		fputs("morph report: --live samples now; --since and --until are of what was sampled "
		      "before\n",
		      stderr);
		return VERB_USAGE;
	}
	return 0;
}

static int request_parse(int argc, char **argv, struct report_request *request)
{
	static const struct option options[] = {
		{ "by", required_argument, NULL, 'b' },
		{ "only", required_argument, NULL, 'o' },
		{ "least", required_argument, NULL, OPTION_LEAST },
		{ "sort", required_argument, NULL, 's' },
		{ "limit", required_argument, NULL, 'n' },
		{ "skip", required_argument, NULL, OPTION_SKIP },
		{ "since", required_argument, NULL, OPTION_SINCE },
		{ "until", required_argument, NULL, OPTION_UNTIL },
		{ "state", required_argument, NULL, OPTION_STATE },
		{ "live", required_argument, NULL, 'l' },
		{ "pid", required_argument, NULL, 'p' },
		{ "cgroup", required_argument, NULL, 'G' },
		{ "frequency", required_argument, NULL, 'F' },
		{ "format", required_argument, NULL, OPTION_FORMAT },
		{ "output", required_argument, NULL, OPTION_OUTPUT },
		{ "html", required_argument, NULL, OPTION_HTML },
		{ "debug-dir", required_argument, NULL, OPTION_DEBUG_DIR },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	*request = (struct report_request){
		.rows.by = 1u << BY_PROCEDURE | 1u << BY_IMAGE,
		.recorder = { .clock = PERF_CLOCK_CPU, .rate_hz = DEFAULT_RATE_HZ },
		.limit = SIZE_MAX,
	};
	while ((c = getopt_long(argc, argv, "n:p:G:F:h", options, NULL)) != -1) {
		int r;

		if (c == 'h') {
			verb_help("report");
			return -1;
		}
		r = option_take(c, optarg, request);
		if (r)
			return r;
	}
	request->paths = argv + optind;
	request->n_paths = (size_t)(argc - optind);
	c = export_complete(request);
	if (c)
		return c;
	if (request->limit == SIZE_MAX)
		request->limit = request->json ? 0 : DEFAULT_LIMIT;
	return request_complete(request);
}

int report_run(int argc, char **argv)
{
	struct report_request request;
	struct fault fault;
	int r = request_parse(argc, argv, &request);

	if (r != 0)
		return r < 0 ? VERB_DONE : r;
	/* The recorder's pids are the request's own: it must not have moved. */
	request.recorder.pids = request.pids;
	if (report_check(&request, &fault) < 0)
		return verb_refuse("report", &fault);
	return report_work(&request, &fault) < 0 ? verb_fail("report", &fault) : VERB_DONE;
}
