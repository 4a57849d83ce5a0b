/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph top: which modules, or functions, the CPUs are in right now. Samples by itself, with whatever
 * this user may watch: the whole machine, or the user's own processes.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/shared/demangle.h"
#include "cli/shared/number.h"
#include "cli/shared/procedures.h"
#include "cli/shared/watch.h"
#include "cli/verb.h"

#define DEFAULT_RATE_HZ 99.0
#define DEFAULT_INTERVAL_S 2.0
#define DEFAULT_LINES 20u
#define MAX_PIDS 1024u
#define MAX_FILES 256u

struct request {
	struct recorder_options recorder;
	pid_t pids[MAX_PIDS];
	double interval_s;
	unsigned long rounds; /* 0: until interrupted */
	unsigned lines;	      /* 0: as many as the terminal has */
	bool by_function, json, is_terminal;
};

struct line {
	const char *module, *function; /* borrowed */
	uint64_t samples;
	bool is_kernel;
};

/* Files stay open from round to round: symbols are sorted once. */
struct file_cache {
	struct {
		char *path; /* owned */
		struct build_id build_id;
		struct procedures *procedures; /* NULL: no memory */
	} files[MAX_FILES];
	size_t n;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(_unused_ int signal)
{
	interrupted = 1;
}

/* --- options -------------------------------------------------------------------------------------- */

static int bad_value(const char *option, const char *value)
{
	fprintf(stderr, "morph top: %s: \"%s\" is not usable; see morph-top(1)\n", option, SHOWN(value));
	return VERB_USAGE;
}

static int option_take(int option, const char *value, struct request *request)
{
	double number;

	switch (option) {
	case 'F':
		return number_parse(value, 1, 10000, &request->recorder.rate_hz) ? 0 : bad_value("-F", value);
	case 'd':
		return number_parse(value, 0.1, 3600, &request->interval_s) ? 0 : bad_value("--delay", value);
	case 'n':
		if (!number_parse(value, 1, 1e9, &number))
			return bad_value("--rounds", value);
		request->rounds = (unsigned long)number;
		return 0;
	case 'l':
		if (!number_parse(value, 1, 10000, &number))
			return bad_value("--lines", value);
		request->lines = (unsigned)number;
		return 0;
	case 'p':
		if (!number_parse(value, 1, INT32_MAX, &number) || request->recorder.n_pids == MAX_PIDS)
			return bad_value("--pid", value);
		request->pids[request->recorder.n_pids++] = (pid_t)number;
		return 0;
	case 'f': request->by_function = true; return 0;
	case 'j': request->json = true; return 0;
	default: return VERB_USAGE;
	}
}

static int request_parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{ "functions", no_argument, NULL, 'f' },
		{ "pid", required_argument, NULL, 'p' },
		{ "delay", required_argument, NULL, 'd' },
		{ "rounds", required_argument, NULL, 'n' },
		{ "lines", required_argument, NULL, 'l' },
		{ "frequency", required_argument, NULL, 'F' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "fp:d:n:l:F:jh", options, NULL)) != -1) {
		int r;

		if (c == 'h') {
			verb_help("top");
			return -1;
		}
		r = c == '?' ? VERB_USAGE : option_take(c, optarg, request);
		if (r)
			return c == '?' ? verb_usage("top") : r;
	}
	return optind < argc ? verb_usage("top") : 0;
}

/* --- functions ------------------------------------------------------------------------------------ */

/* NULL: no room, or no memory. */
static struct procedures *procedures_of(struct file_cache *cache, const struct sample_module *module)
{
	struct procedures_question question = { .module = module };
	enum procedures_lack lack;

	for (size_t i = 0; i < cache->n; i++)
		if (strcmp(cache->files[i].path, module->path) == 0 &&
		    build_id_is_equal(&cache->files[i].build_id, &module->build_id))
			return cache->files[i].procedures;
	if (cache->n == MAX_FILES)
		return NULL;
	cache->files[cache->n].path = strdup(module->path);
	cache->files[cache->n].build_id = module->build_id;
	cache->files[cache->n].procedures = procedures_open(&question, &lack);
	return cache->files[cache->n].path ? cache->files[cache->n++].procedures : NULL;
}

static void cache_done(struct file_cache *cache)
{
	for (size_t i = 0; i < cache->n; i++) {
		procedures_free(cache->files[i].procedures);
		free(cache->files[i].path);
	}
}

/* --- lines ---------------------------------------------------------------------------------------- */

static int by_name(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;
	int order = strcmp(a->module, b->module);

	return order ? order : strcmp(a->function, b->function);
}

static int by_samples(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	return by_name(pa, pb);
}

static size_t unite(struct line *lines, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(lines, n, sizeof(*lines), by_name);
	for (size_t i = 0; i < n; i++) {
		if (kept && by_name(&lines[kept - 1], &lines[i]) == 0)
			lines[kept - 1].samples += lines[i].samples;
		else
			lines[kept++] = lines[i];
	}
	if (kept)
		qsort(lines, kept, sizeof(*lines), by_samples);
	return kept;
}

static size_t lines_fill(const struct sample_log *log, const struct request *request,
			 struct file_cache *cache, struct line *lines)
{
	size_t n = 0;

	for (size_t i = 0; i < log->n_modules; i++) {
		const struct sample_module *module = &log->modules[i];
		bool by_function = request->by_function && module->kind == SAMPLE_MODULE_FILE;
		struct procedures *procedures = by_function ? procedures_of(cache, module) : NULL;

		for (size_t k = 0; by_function && k < module->n_counts; k++) {
			const char *name =
				procedures ? procedure_at(procedures, module->counts[k].offset) : NULL;

			lines[n++] = (struct line){ module->path, name ? name : "?", module->counts[k].count,
						    false };
		}
		if (!by_function)
			lines[n++] = (struct line){ module->path, "", module->total,
						    module->kind == SAMPLE_MODULE_KERNEL };
	}
	return unite(lines, n);
}

static size_t lines_max(const struct sample_log *log)
{
	size_t n = log->n_modules;

	for (size_t i = 0; i < log->n_modules; i++)
		n += log->modules[i].n_counts;
	return n;
}

/* --- showing -------------------------------------------------------------------------------------- */

static unsigned n_shown(const struct request *request)
{
	struct winsize size;

	if (request->lines)
		return request->lines;
	if (request->is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 5)
		return size.ws_row - 4u;
	return DEFAULT_LINES;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void show_text(const struct sample_log *log, const struct line *lines, size_t n,
		      const struct request *request)
{
	_clean_(table_freep) struct table *table = table_new(
		request->by_function ? ">samples|>share|function|module" : ">samples|>share|module");
	uint64_t seen = log->user + log->kernel;
	double cpu_s = (double)seen / log->rate_hz;

	if (!table)
		return;
	if (request->is_terminal)
		fputs("\033[H\033[2J", stdout);
	printf("%" PRIu64
	       " samples in %.1f s: %.0f %% of one CPU; user %.1f %%, kernel %.1f %%, unknown %.2f %%\n\n",
	       seen, (double)log->duration_ns / 1e9, 100 * cpu_s / ((double)log->duration_ns / 1e9),
	       share(log->user, seen), share(log->kernel, seen),
	       share(log->user - log->attributed - log->anonymous, seen));
	for (size_t i = 0; i < n && i < n_shown(request); i++) {
		table_cell(table, "%" PRIu64, lines[i].samples);
		table_cell(table, "%.2f %%", share(lines[i].samples, seen));
		if (request->by_function)
			table_cell(table, "%s", demangled(lines[i].function));
		table_cell(table, "%s", lines[i].module);
	}
	table_print(table, stdout);
	if (!request->is_terminal)
		putchar('\n');
	fflush(stdout);
}

static void show_json(const struct sample_log *log, const struct line *lines, size_t n,
		      const struct request *request)
{
	struct json json = json_to(stdout);
	uint64_t seen = log->user + log->kernel;

	json_object_begin(&json, NULL);
	json_double(&json, "duration_s", (double)log->duration_ns / 1e9);
	json_double(&json, "rate_hz", log->rate_hz);
	json_u64(&json, "samples", seen);
	json_u64(&json, "user", log->user);
	json_u64(&json, "kernel", log->kernel);
	json_u64(&json, "idle", log->idle);
	json_array_begin(&json, request->by_function ? "functions" : "modules");
	for (size_t i = 0; i < n && (!request->lines || i < request->lines); i++) {
		json_object_begin(&json, NULL);
		json_string(&json, "module", lines[i].module);
		if (request->by_function)
			json_string(&json, "function", lines[i].function);
		demangled_json(&json, lines[i].function);
		json_u64(&json, "samples", lines[i].samples);
		json_double(&json, "share_percent", share(lines[i].samples, seen));
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	fflush(stdout);
}

static int show(struct recorder *recorder, const struct request *request, struct file_cache *cache,
		struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	_clean_(freep) struct line *lines = NULL;
	int r = recorder_log(recorder, &log, reterr);
	size_t n;

	if (r < 0)
		return r;
	lines = calloc(lines_max(log) + 1, sizeof(*lines));
	if (!lines)
		return fault_errno(reterr, -ENOMEM, "samples");
	n = lines_fill(log, request, cache, lines);
	if (request->json)
		show_json(log, lines, n, request);
	else
		show_text(log, lines, n, request);
	return 0;
}

static int rounds(struct recorder *recorder, const struct request *request, struct file_cache *cache,
		  struct fault *reterr)
{
	int r = 0;

	for (unsigned long i = 0; r == 0 && !interrupted && (!request->rounds || i < request->rounds); i++) {
		double end_s = clock_s(CLOCK_MONOTONIC) + request->interval_s, left_s;

		while (r == 0 && !interrupted && (left_s = end_s - clock_s(CLOCK_MONOTONIC)) > 0)
			r = recorder_wait(recorder, -1, (int)ceil(MIN(left_s, 0.2) * 1e3), reterr);
		if (r == 0)
			r = show(recorder, request, cache, reterr);
	}
	return r;
}

int top_run(int argc, char **argv)
{
	_clean_(recorder_freep) struct recorder *recorder = NULL;
	struct sigaction action = { .sa_handler = on_interrupt };
	struct file_cache cache = { .n = 0 };
	struct request request = {
		.recorder = { .clock = PERF_CLOCK_CPU, .rate_hz = DEFAULT_RATE_HZ },
		.interval_s = DEFAULT_INTERVAL_S,
		.is_terminal = isatty(STDOUT_FILENO),
	};
	struct fault fault;
	int r = request_parse(argc, argv, &request);

	if (r != 0)
		return r < 0 ? VERB_DONE : r;
	request.is_terminal &= !request.json;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	request.recorder.pids = request.pids;
	r = watch_open(&request.recorder, &recorder, &fault);
	if (r == 0)
		r = rounds(recorder, &request, &cache, &fault);
	cache_done(&cache);
	return r < 0 ? verb_fail("top", &fault) : VERB_DONE;
}
