/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph bisect PATH -- COMMAND...: which function, and which optimization, makes a generation fail, or slower.
 *
 *	1. the command with the shipped file and with the generation, several times	(judge.h)
 *	2. the smallest set of functions with which it is still bad			(ddmin.h)
 *	3. once more without these, until what is left is good
 *	4. the smallest set of optimizations that do it to the first of these sets
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/bisect/bisect.h"
#include "cli/bisect/bug.h"
#include "cli/bisect/ddmin.h"
#include "manager/keep/path.h"

int bisect_run(int argc, char **argv);

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

void bisect_done(struct bisect *b)
{
	subject_done(&b->subject);
	free(b->kept);
	free(b->asked);
	for (size_t i = 0; i < b->n_found; i++)
		free(b->found[i].functions);
	free(b->found);
}

static void on_run(void *userdata, unsigned done, unsigned total)
{
	struct bisect *b = userdata;
	char text[160];

	snprintf(text, sizeof(text), "%s; %zu edits; run", b->phase, b->subject.n_edits);
	progress_step(&b->progress, text, done, total);
}

/* A step, for whoever watches; also where there is no terminal. */
static void _printf_(2, 3) say(struct bisect *b, const char *fmt, ...)
{
	va_list ap;

	if (b->quiet)
		return;
	progress_end(&b->progress);
	va_start(ap, fmt);
	fputs("morph bisect: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	progress_begin(&b->progress, STDERR_FILENO);
}

/* ---- one question ---- */

/* 1: bad; 0: good, or nobody knows */
static int variant_ask(struct bisect *b, const bool *edited, const bool *passes, struct fault *reterr)
{
	int r;

	progress_step(&b->progress, b->phase, 0, 0);
	r = subject_variant(&b->subject, edited, passes, b->file, reterr);
	b->asked_shipped = r == VARIANT_SHIPPED;
	if (interrupted)
		return fault_set(reterr, -EINTR, "interrupted");
	if (r == VARIANT_UNMADE)
		b->n_unmade++;
	if (r != VARIANT_MADE)
		return r < 0 ? r : 0;
	r = judge_file(&b->judge, b->file, reterr);
	b->n_unknown += r == 2;
	return r < 0 ? r : r == 1;
}

/* Of the functions that are not kept already, only those in @in are compiled anew. */
static int functions_ask(void *user, const bool *in, size_t n)
{
	struct bisect *b = user;
	size_t left = 0;

	for (size_t i = 0, at = 0; i < b->subject.n_functions; i++)
		b->asked[i] = !b->kept[i] && in[at++];
	for (size_t i = 0; i < n; i++)
		left += in[i];
	snprintf(b->phase, sizeof(b->phase), "%zu of %zu functions", left, b->subject.n_functions);
	return variant_ask(b, b->asked, NULL, b->fault);
}

static int passes_ask(void *user, const bool *in, _unused_ size_t n)
{
	struct bisect *b = user;

	snprintf(b->phase, sizeof(b->phase), "optimizations");
	return variant_ask(b, b->found[0].functions, in, b->fault);
}

/* ---- functions ---- */

/* One more set that is bad by itself; of several that are so only together, the coldest one is kept as shipped. */
static int set_find(struct bisect *b, struct fault *reterr)
{
	struct subject *s = &b->subject;
	struct bisect_set *more = reallocarray(b->found, b->n_found + 1, sizeof(*more));
	_clean_(freep) bool *in = calloc(s->n_functions + 1, sizeof(*in));
	_clean_(freep) bool *set = calloc(s->n_functions + 1, sizeof(*set));
	size_t n = 0, last = 0;
	int r;

	b->found = more ? more : b->found;
	if (!more || !in || !set)
		return fault_errno(reterr, -ENOMEM, "bisection");
	for (size_t i = 0; i < s->n_functions; i++)
		n += !b->kept[i];
	r = ddmin(n, functions_ask, b, in);
	if (r < 0)
		return r;
	for (size_t i = 0, at = 0; i < s->n_functions; i++) {
		set[i] = !b->kept[i] && in[at++];
		last = set[i] ? i : last;
	}
	b->kept[last] = true;
	b->found[b->n_found++] = (struct bisect_set){ TAKE(set), (size_t)r, last };
	return 0;
}

static void set_say(struct bisect *b, const struct bisect_set *set)
{
	char names[400] = "";
	size_t at = 0;

	for (size_t i = 0; i < b->subject.n_functions && at < sizeof(names) - 100; i++)
		if (set->functions[i])
			at += (size_t)snprintf(names + at, 90, "%s%s", at ? ", " : "",
					       SHOWN(b->subject.functions[i].name));
	say(b, "%s %s: %s", b->judge.by_time ? "slower" : "fails",
	    set->n == 1 ? "with this function alone" : "only with these together", names);
}

static int functions_find(struct bisect *b, struct fault *reterr)
{
	struct subject *s = &b->subject;
	int r = 1;

	b->kept = calloc(s->n_functions + 1, sizeof(*b->kept));
	b->asked = calloc(s->n_functions + 1, sizeof(*b->asked));
	if (!b->kept || !b->asked)
		return fault_errno(reterr, -ENOMEM, "bisection");
	while (r == 1 && b->n_found < BISECT_SETS_MAX) {
		r = set_find(b, reterr);
		if (r < 0)
			return r;
		set_say(b, &b->found[b->n_found - 1]);
		/* Is that all? */
		for (size_t i = 0; i < s->n_functions; i++)
			b->asked[i] = !b->kept[i];
		snprintf(b->phase, sizeof(b->phase), "without what was found");
		r = variant_ask(b, b->asked, NULL, reterr);
	}
	b->is_all = r == 0 && b->asked_shipped;
	b->is_cured = r == 0 && !b->is_all;
	return r < 0 ? r : 0;
}

/* ---- optimizations ---- */

static int passes_find(struct bisect *b, struct fault *reterr)
{
	bool none[PASSES_MAX] = { false };
	int r = passes_ask(b, none, b->subject.passes.n);

	if (r == 1) {
		b->passes_known = true; /* none of them */
		return 0;
	}
	if (r == 0) /* with all of them? What was not compiled for them shows nothing. */
		r = variant_ask(b, b->found[0].functions, NULL, reterr);
	if (r <= 0)
		return r;
	r = ddmin(b->subject.passes.n, passes_ask, b, b->passes);
	b->passes_known = r >= 0;
	return r < 0 ? r : 0;
}

/* ---- all of it ---- */

static int same_file(const char *a, const char *b)
{
	_clean_(file_map_donep) struct file_map x = { 0 }, y = { 0 };
	struct fault fault;

	if (file_map_open(a, &x, &fault) < 0 || file_map_open(b, &y, &fault) < 0)
		return -1;
	return x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
}

/* The generation once more. It is judged, not the recorded one: what follows is compared with it. */
static int generation_make(struct bisect *b, struct fault *reterr)
{
	struct subject *s = &b->subject;
	int r;

	snprintf(b->phase, sizeof(b->phase), "the generation");
	progress_step(&b->progress, b->phase, 0, 0);
	r = subject_variant(s, NULL, NULL, path_join(s->repeat.directory, "generation", b->generation),
			    reterr);
	if (interrupted)
		return fault_set(reterr, -EINTR, "interrupted");
	if (r > 0)
		r = fault_set(reterr, -ECHILD, "the edit cannot be repeated: %s",
			      r == VARIANT_SHIPPED ? "all functions are kept as shipped already" : s->unmade);
	if (r == 0 && s->repeat.made && same_file(b->generation, s->repeat.binary) == 0)
		say(b,
		    "the edit repeated gives other bytes than generation %lld (another Morph or LLVM?); "
		    "looking at "
		    "those",
		    (long long)s->generation);
	return r;
}

static int shipped_place(struct bisect *b, struct fault *reterr)
{
	struct stat st;
	int r = file_copy(b->subject.repeat.original,
			  path_join(b->subject.repeat.directory, "shipped", b->shipped), reterr);

	if (r < 0)
		return r;
	if (stat(b->subject.path, &st) < 0 ||
	    (geteuid() == 0 && chown(b->shipped, st.st_uid, st.st_gid) < 0) ||
	    chmod(b->shipped, st.st_mode & 07777) < 0)
		return fault_errno(reterr, -errno, "%s", b->shipped);
	return 0;
}

/* 0: it is bad, go on; 1: there is nothing to look for */
static int begin(struct bisect *b, struct fault *reterr)
{
	int r = subject_open(&b->options, &b->subject, reterr);

	if (r < 0)
		return r;
	path_join(b->subject.repeat.directory, "variant", b->file);
	r = shipped_place(b, reterr);
	if (r == 0)
		r = generation_make(b, reterr);
	if (r < 0)
		return r;
	b->judge.trial.path = b->subject.path;
	b->judge.shipped = b->shipped;
	b->judge.on_run = on_run;
	b->judge.userdata = b;
	r = judge_begin(&b->judge, b->generation, reterr);
	if (r != 0)
		return r;
	if (b->judge.by_time)
		say(b, "the generation takes %.3f (%.3f .. %.3f) times as long; %zu functions to blame",
		    b->judge.slower.median, b->judge.slower.low, b->judge.slower.high,
		    b->subject.n_functions);
	else
		say(b,
		    "fails %u of %u times with the generation (%s), never of %u with the shipped file; %u "
		    "run%s for "
		    "each file to come; %zu functions to blame",
		    b->judge.failed, b->judge.ran, b->judge.how, b->judge.shipped_ran, b->judge.needed,
		    b->judge.needed == 1 ? "" : "s", b->subject.n_functions);
	return 0;
}

static int report_write(struct bisect *b, struct fault *reterr)
{
	_clean_(freep) char *summary = NULL;
	_clean_(freep) bool *wanted = calloc(b->subject.n_functions + 1, sizeof(*wanted));
	struct bug bug = { b->report, NULL, b->generation, wanted };
	size_t size;
	FILE *out = open_memstream(&summary, &size);

	if (!out || !wanted)
		return fault_errno(reterr, -ENOMEM, "%s", b->report);
	for (size_t i = 0; i < b->n_found; i++)
		for (size_t j = 0; j < b->subject.n_functions; j++)
			wanted[j] |= b->found[i].functions[j];
	bisect_print(b, out);
	fputs("\nThe command:", out);
	for (char **word = b->judge.trial.command; *word; word++)
		fprintf(out, " %s", SHOWN(*word));
	fputs("\n", out);
	if (fclose(out) != 0)
		return fault_errno(reterr, -ENOMEM, "%s", b->report);
	bug.summary = summary;
	return bug_write(&b->subject, &bug, reterr);
}

/* It is made at the end; that it cannot be is said before all the work. */
static int report_check(const char *path, struct fault *reterr)
{
	struct stat st;

	if (lstat(path, &st) == 0)
		return fault_set(reterr, -EEXIST, "%s: is there already; name a directory that is not", path);
	return file_write_check(path, reterr);
}

int bisect_all(struct bisect *b, struct fault *reterr)
{
	int r;

	b->fault = reterr;
	r = b->report ? report_check(b->report, reterr) : 0;
	if (r < 0)
		return r;
	sigaction(SIGINT, &(struct sigaction){ .sa_handler = on_signal }, NULL);
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = on_signal }, NULL);
	sigaction(SIGHUP, &(struct sigaction){ .sa_handler = on_signal }, NULL);
	b->judge.trial.interrupted = &interrupted;
	progress_begin(&b->progress, STDERR_FILENO);
	r = begin(b, reterr);
	if (r == 0)
		r = functions_find(b, reterr);
	if (r == 0)
		r = passes_find(b, reterr);
	if (r == 0 && b->report)
		r = report_write(b, reterr);
	if (r == 0 && b->keep && b->is_cured)
		r = bisect_keep(b, reterr);
	progress_end(&b->progress);
	return r;
}

enum {
	SLOWER = 700,
	COMPARE,
	RUNS,
	ROUNDS,
	TIMEOUT,
	GENERATION,
	SHIPPED,
	PROFILE,
	CPU,
	SIDECARS,
	STATE,
	REPORT,
	KEEP,
	QUIET
};

static bool number_take(const char *text, unsigned least, unsigned most, unsigned *ret)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || value < least || value > most) {
		fprintf(stderr, "morph bisect: \"%s\" is no number from %u to %u\n", SHOWN(text), least,
			most);
		return false;
	}
	*ret = (unsigned)value;
	return true;
}

/* -1: taken; else the exit code */
static int option_take(struct bisect *b, int c)
{
	unsigned generation;
	bool good = true;

	switch (c) {
	case SLOWER: b->judge.by_time = true; break;
	case COMPARE: b->judge.trial.compares = true; break;
	case RUNS: good = number_take(optarg, 2, 1000, &b->judge.n_runs); break;
	case ROUNDS: good = number_take(optarg, 5, JUDGE_ROUNDS_MAX, &b->judge.n_rounds); break;
	case TIMEOUT: good = number_take(optarg, 1, 1000000, &b->judge.trial.timeout_s); break;
	case GENERATION:
		good = number_take(optarg, 1, 1000000000, &generation);
		b->options.generation = good ? (int64_t)generation : -1;
		break;
	case SHIPPED: b->options.shipped = optarg; break;
	case PROFILE: b->options.profile = optarg; break;
	case CPU: b->options.cpu = optarg; break;
	case SIDECARS: b->options.sidecar_dir = optarg; break;
	case STATE: b->options.state = optarg; break;
	case REPORT: b->report = optarg; break;
	case KEEP: b->keep = true; break;
	case QUIET: b->quiet = true; break;
	default: return daemon_option(&b->daemon, c, "bisect");
	}
	return good ? -1 : VERB_USAGE;
}

static int nothing(const struct bisect *b, struct fault *fault)
{
	const struct paired_summary *slower = &b->judge.slower;

	if (b->judge.by_time)
		fault_set(fault, 0,
			  "%s: not slower by this command: %.3f (%.3f .. %.3f) times the shipped file's time",
			  b->options.path, slower->median, slower->low, slower->high);
	else
		fault_set(fault, 0, "%s: in %u runs with the generation the command does not fail",
			  b->options.path, b->judge.ran);
	return verb_fail("bisect", fault);
}

int bisect_run(int argc, char **argv)
{
	static const struct option options[] = { { "slower", no_argument, NULL, SLOWER },
						 { "compare-output", no_argument, NULL, COMPARE },
						 { "runs", required_argument, NULL, RUNS },
						 { "rounds", required_argument, NULL, ROUNDS },
						 { "timeout", required_argument, NULL, TIMEOUT },
						 { "generation", required_argument, NULL, GENERATION },
						 { "shipped", required_argument, NULL, SHIPPED },
						 { "profile", required_argument, NULL, PROFILE },
						 { "cpu", required_argument, NULL, CPU },
						 { "sidecar-dir", required_argument, NULL, SIDECARS },
						 { "state", required_argument, NULL, STATE },
						 { "report", required_argument, NULL, REPORT },
						 { "keep", no_argument, NULL, KEEP },
						 { "quiet", no_argument, NULL, QUIET },
						 DAEMON_OPTIONS };
	_clean_(bisect_done) struct bisect b = { .options.generation = -1,
						 .judge = { .n_runs = 5, .n_rounds = 100, .seed = 20 } };
	struct fault fault = { "" };
	int c, code = -1, r;

	while (code < 0 && (c = getopt_long(argc, argv, "+h", options, NULL)) != -1)
		code = option_take(&b, c);
	if (code < 0 && optind < argc && b.options.path == NULL) { /* options may follow the path, too */
		b.options.path = argv[optind++];
		while (code < 0 && (c = getopt_long(argc, argv, "+h", options, NULL)) != -1)
			code = option_take(&b, c);
	}
	if (code >= 0)
		return code;
	if (optind >= argc || (b.options.shipped && !b.options.profile))
		return verb_usage("bisect");
	b.judge.trial.command = argv + optind;
	b.judge.trial.quiet = b.quiet || b.daemon.json || !isatty(STDERR_FILENO);
	r = bisect_all(&b, &fault);
	if (r < 0)
		return verb_fail("bisect", &fault);
	if (r == 1)
		return nothing(&b, &fault);
	if (b.daemon.json)
		bisect_json(&b);
	else
		bisect_print(&b, stdout);
	return VERB_DONE;
}
