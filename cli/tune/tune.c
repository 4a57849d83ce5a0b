/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph tune PROGRAM -- COMMAND...: measure a handful of generations of a program by what the command costs, and keep the best
 * morph tune PROGRAM --benchmark: likewise by the packager's benchmark, which is a command like any other (cli/benchmark/benchmark.c)
 * morph tune --all: the same for each program of this machine (all.h)
 *
 *	1. the shipped program runs the command twice: does it print the same?
 *	2. a profile: the one given, that of the generation that stands there, or one of the command
 *	3. candidates (candidates.h)
 *	4. rounds (cli/shared/rounds.h), with each candidate in the program's place for the command alone, until it is settled
 *	   (judge.h), or the time is over
 *	5. what is better beyond doubt is used; when nothing can be, as shipped stays or comes back; when too little was
 *	   measured to tell, nothing changes
 */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/benchmark/benchmark_of.h"
#include "cli/shared/number.h"
#include "cli/shared/self.h"
#include "cli/shared/shipped.h"
#include "cli/tune/activate.h"
#include "cli/tune/all.h"
#include "cli/tune/candidates.h"
#include "cli/tune/judge.h"
#include "cli/tune/result.h"
#include "cli/tune/training.h"
#include "cli/verb.h"
#include "manager/keep/path.h"
#include "module/image.h"
#include "module/morph_data.h"

#define DEFAULT_ERROR 0.01
#define DEFAULT_LEAST_PERCENT 0.5
#define DEFAULT_MINUTES 15.0
#define DEFAULT_TIMEOUT_S 600.0

struct tune {
	/* what was asked for */
	const char *argument; /* PROGRAM as given */
	const char *output, *given_profile, *given_shipped, *store, *names, *sidecar_dir, *jobs;
	double error, least_percent, minutes, timeout_s, most_rounds;
	bool ignores_output, json, selftest, only_measures, benchmarks, all, when_idle;
	const char *state; /* morphd's state directory; NULL: the configured one */
	struct client_options daemon;
	/* what was found */
	char program[PATH_MAX], shipped[PATH_MAX], profile[PATH_MAX], directory[PATH_MAX];
	char self[PATH_MAX], *stored; /* stored: owned; the packager's benchmark */
	char *benchmark[8];	      /* the command that runs it, of these */
	bool is_generation;	      /* what stands there now */
	struct candidates candidates;
	struct rounds_member members[CANDIDATES_MOST];
	struct judged judged[CANDIDATES_MOST];
	struct rounds rounds;
	struct tune_result result;
	struct progress progress;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

/* ---- the program, the command, the profile ---- */

/* The newest profile in the store that a generation of this shipped file was made from: what the machine has seen of it. */
static void stored_profile_find(struct tune *tune)
{
	char path[PATH_MAX], generations[PATH_MAX + 16], best[PATH_MAX] = "";
	struct dirent *entry;
	long newest = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s", tune->shipped);
	snprintf(generations, sizeof(generations), "%s/generations", dirname(path));
	dir = opendir(generations);
	while (dir && (entry = readdir(dir))) {
		long number = strtol(entry->d_name, NULL, 10);
		char profile[PATH_MAX];

		if (number > newest &&
		    snprintf(profile, sizeof(profile), "%s/%ld/profile", generations, number) < PATH_MAX &&
		    access(profile, R_OK) == 0) {
			newest = number;
			strcpy(best, profile);
		}
	}
	if (dir)
		closedir(dir);
	strcpy(tune->profile, best);
}

static int shipped_look(struct tune *tune, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	struct morph_peek peek;
	int r = image_open(tune->program, &image, reterr);

	if (r == 0)
		r = morph_data_peek(image, tune->sidecar_dir, &peek, reterr);
	if (r < 0)
		return r;
	if (image_stat(image)->st_mode & (S_ISUID | S_ISGID))
		return fault_set(
			reterr, -EPERM,
			"%s: has the rights of its owner or group (set-ID), which no candidate would have",
			tune->program);
	tune->is_generation = peek.origin.size;
	if (!tune->is_generation)
		strcpy(tune->shipped, tune->program);
	else if (tune->given_shipped)
		return realpath(tune->given_shipped, tune->shipped) ?
			       0 :
			       fault_errno(reterr, -errno, "%s", tune->given_shipped);
	else if (tune->state && !tune->store) {
		char store[PATH_MAX];

		return shipped_find(tune->program, path_join(tune->state, "store", store), tune->shipped,
				    reterr);
	} else
		return shipped_find(tune->program, tune->store, tune->shipped, reterr);
	return 0;
}

/* The command is known once and for all: it is not looked for in each round anew. */
static int benchmark_take(struct tune *tune, struct fault *reterr)
{
	int r = benchmark_of(tune->shipped, tune->sidecar_dir, &tune->stored, reterr);

	if (r == 0)
		r = self_find(tune->self, reterr);
	if (r < 0)
		return r;
	memcpy(tune->benchmark,
	       (char *[]){ tune->self, (char *)"benchmark", (char *)"--quiet", (char *)"--command",
			   tune->stored, tune->program, NULL },
	       7 * sizeof(char *));
	tune->rounds.run.command = tune->benchmark;
	return 0;
}

/* The command, with the shipped file in its place where something else stands there. */
static struct run_options command_of(const struct tune *tune)
{
	struct run_options run = tune->rounds.run;

	run.program = tune->is_generation ? tune->program : NULL;
	run.file = tune->is_generation ? tune->shipped : NULL;
	return run;
}

static int profile_given(struct tune *tune, struct fault *reterr)
{
	return !tune->given_profile || realpath(tune->given_profile, tune->profile) ?
		       0 :
		       fault_errno(reterr, -errno, "%s", tune->given_profile);
}

static int profile_find(struct tune *tune, struct fault *reterr)
{
	struct training training = { .run = command_of(tune),
				     .shipped = tune->shipped,
				     .sidecar_dir = tune->sidecar_dir,
				     .directory = tune->directory,
				     .profile = tune->profile };

	if (tune->is_generation && !tune->profile[0])
		stored_profile_find(tune);
	if (tune->profile[0])
		return 0;
	snprintf(tune->profile, sizeof(tune->profile), "%.4000s/profile", tune->directory);
	progress_step(&tune->progress, "sampling the command", 0, 0);
	return training_run(&training, reterr);
}

/* ---- steps 1 to 4 ---- */

static struct candidates_request request_of(const struct tune *tune)
{
	return (struct candidates_request){ .names = tune->names,
					    .program = tune->program,
					    .shipped = tune->shipped,
					    .active = tune->is_generation ? tune->program : NULL,
					    .profile = tune->profile,
					    .sidecar_dir = tune->sidecar_dir,
					    .jobs = tune->jobs,
					    .directory = tune->directory,
					    .selftest = tune->selftest,
					    .interrupted = &interrupted };
}

static void member_add(struct tune *tune, size_t i)
{
	const struct candidate *candidate = &tune->candidates.list[i];

	tune->result.of_member[tune->rounds.n] = i;
	tune->members[tune->rounds.n++] =
		(struct rounds_member){ .name = candidate->kind->name, .file = candidate->file };
}

/* Before anything is made: a command of which nothing can be told is found out in two runs of it. */
static int command_check(struct tune *tune, struct fault *reterr)
{
	struct candidates_request request = request_of(tune);
	bool *same = tune->result.prints_same;
	int r = candidates_choose(&request, &tune->candidates, reterr);

	if (r == 0)
		r = candidates_begin(&request, &tune->candidates, reterr);
	if (r < 0)
		return r;
	member_add(tune, 0);
	progress_step(&tune->progress, "running the command as shipped, twice", 0, 0);
	r = rounds_begin(&tune->rounds, (size_t)tune->most_rounds, reterr);
	if (r == 0)
		r = rounds_repeat(&tune->rounds, same, reterr);
	if (r < 0)
		return r;
	if (!same[0] && !tune->ignores_output)
		return fault_set(
			reterr, -EINVAL,
			"the command does not print the same twice as shipped, so nobody could see whether a "
			"candidate "
			"is wrong; make it print what does not change, or go on with --ignore-output");
	if (!same[1])
		log_info("standard error is not the same twice as shipped; it is not compared");
	return 0;
}

static int candidates_find(struct tune *tune, struct fault *reterr)
{
	struct candidates_request request = request_of(tune);
	int r = candidates_make(&request, &tune->candidates, &tune->progress, reterr);

	for (size_t i = 1; i < tune->candidates.n && r == 0; i++)
		if (!tune->candidates.list[i].failed[0])
			member_add(tune, i);
	if (r == 0 && tune->rounds.n == 1)
		return fault_set(reterr, -ENODATA, "%s: no candidate could be made: %s", tune->program,
				 tune->candidates.n > 1 ? tune->candidates.list[1].failed : "none is wanted");
	return r;
}

static int rounds_measure(struct tune *tune, struct fault *reterr)
{
	struct judge_options options = { tune->error, tune->least_percent / 100 };
	uint64_t start = clock_ns(CLOCK_MONOTONIC), limit_ns = (uint64_t)(tune->minutes * 60e9);
	int r = rounds_begin(&tune->rounds, (size_t)tune->most_rounds, reterr);

	if (r == 0)
		r = rounds_run(&tune->rounds, false, reterr);
	while (r == 0 && !tune->result.is_settled && tune->rounds.n_done < tune->rounds.capacity &&
	       clock_ns(CLOCK_MONOTONIC) - start < limit_ns) {
		progress_step(&tune->progress, "measuring, round", tune->rounds.n_done,
			      tune->rounds.capacity);
		r = rounds_run(&tune->rounds, true, reterr);
		if (r < 0)
			break;
		r = judge_look(&tune->rounds, &options, tune->judged, &tune->result.best);
		if (r < 0)
			return fault_errno(reterr, r, "rounds");
		tune->result.is_settled = r;
		r = 0;
	}
	return r;
}

/* ---- step 5 ---- */

static int best_use(struct tune *tune, struct fault *reterr)
{
	struct tune_result *result = &tune->result;
	const struct rounds_member *best = &tune->members[result->best];
	bool proven = result_decide(result, tune->is_generation);
	int r = 0;

	if (tune->output && result->best) {
		result->use = TUNE_WRITTEN;
		r = file_copy(best->file, tune->output, reterr);
	}
	if (!tune->output && !tune->only_measures && proven)
		r = activate(&tune->daemon, result, tune->profile, tune->state, reterr);
	return r;
}

static int result_show(struct tune *tune, struct fault *reterr)
{
	struct tune_result *result = &tune->result;
	int r = tune->json ? result_json(result, stdout) : result_table(result, stdout);

	if (r < 0)
		return fault_errno(reterr, r, "standard output");
	if (!tune->json)
		printf("%s: %s%s%s\n", SHOWN(tune->program), SHOWN(result->said),
		       result->use == TUNE_WRITTEN ? "; written to " : "",
		       result->use == TUNE_WRITTEN ? SHOWN(tune->output) : "");
	return 0;
}

static int tune_in(struct tune *tune, struct fault *reterr)
{
	int r = profile_given(tune, reterr);

	if (r == 0)
		r = command_check(tune, reterr);
	if (r == 0)
		r = profile_find(tune, reterr);
	if (r == 0)
		r = candidates_find(tune, reterr);
	if (r == 0)
		r = rounds_measure(tune, reterr);
	progress_end(&tune->progress);
	tune->result.program = tune->program;
	tune->result.shipped = tune->shipped;
	tune->result.profile = tune->given_profile;
	tune->result.candidates = &tune->candidates;
	tune->result.rounds = &tune->rounds;
	tune->result.judged = tune->judged;
	tune->result.error = tune->error;
	if (r == 0)
		r = best_use(tune, reterr);
	if (r == 0)
		r = result_show(tune, reterr);
	rounds_done(&tune->rounds);
	return r;
}

static void signals_catch(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* Which file, and with --benchmark which command? -ENODATA: it carries none */
static int program_look(struct tune *tune, struct fault *reterr)
{
	int r;

	if (!realpath(tune->argument, tune->program))
		return fault_errno(reterr, -errno, "%s", tune->argument);
	r = shipped_look(tune, reterr);
	return r == 0 && tune->benchmarks ? benchmark_take(tune, reterr) : r;
}

static int tune_program(struct tune *tune, struct fault *reterr)
{
	const char *tmp = getenv("TMPDIR");
	int r;

	if (snprintf(tune->directory, sizeof(tune->directory), "%s/morph-tune.XXXXXX",
		     tmp && *tmp ? tmp : "/tmp") >= PATH_MAX - NAME_MAX ||
	    !mkdtemp(tune->directory))
		return fault_errno(reterr, -errno, "%s: no directory for candidates", tmp ?: "/tmp");
	tune->rounds.run.program = tune->program;
	tune->rounds.run.timeout_s = (unsigned)tune->timeout_s;
	tune->rounds.run.interrupted = &interrupted;
	tune->rounds.members = tune->members;
	tune->rounds.is_quiet[0] = tune->ignores_output;
	tune->rounds.is_quiet[1] = tune->ignores_output;
	signals_catch();
	progress_begin(&tune->progress, STDERR_FILENO);
	r = tune_in(tune, reterr);
	file_remove_tree(tune->directory, NULL);
	return r;
}

/* tune_all.measure, in a process of its own */
static int one_of_all(void *userdata, const char *program, struct fault *reterr)
{
	struct tune *tune = userdata;
	int r;

	tune->argument = program;
	r = program_look(tune, reterr);
	if (r < 0)
		return r;
	r = tune_program(tune, reterr);
	return r == -ENODATA ? -ECANCELED : r; /* no candidate: that is said */
}

static int tune_programs(struct tune *tune, struct fault *reterr)
{
	struct tune_all all = { .daemon = &tune->daemon,
				.when_idle = tune->when_idle,
				.interrupted = &interrupted,
				.measure = one_of_all,
				.userdata = tune };
	int r;

	signals_catch();
	r = tune_all(&all, reterr);
	if (r == 0 && !tune->json)
		printf("%u program%s measured, %u failed\n", all.n_measured, all.n_measured == 1 ? "" : "s",
		       all.n_failed);
	return r == 0 && all.n_failed ?
		       fault_set(reterr, -ECANCELED, "%u of %u programs could not be measured", all.n_failed,
				 all.n_measured + all.n_failed) :
		       r;
}

/* ---- the command line ---- */

enum {
	OPT_SOCKET = 1000,
	OPT_BUS,
	OPT_STATE,
	OPT_MEASURE_ONLY,
	OPT_ERROR,
	OPT_LEAST,
	OPT_MINUTES,
	OPT_TIMEOUT,
	OPT_ROUNDS,
	OPT_IGNORE,
	OPT_SHIPPED,
	OPT_STORE,
	OPT_SIDECARS,
	OPT_BENCHMARK,
	OPT_LIST,
	OPT_SELFTEST,
	OPT_ALL,
	OPT_WHEN_IDLE
};

static const struct option long_options[] = { { "output", required_argument, NULL, 'o' },
					      { "profile", required_argument, NULL, 'p' },
					      { "candidates", required_argument, NULL, 'c' },
					      { "jobs", required_argument, NULL, 'j' },
					      { "json", no_argument, NULL, 'J' },
					      { "error", required_argument, NULL, OPT_ERROR },
					      { "least", required_argument, NULL, OPT_LEAST },
					      { "minutes", required_argument, NULL, OPT_MINUTES },
					      { "timeout", required_argument, NULL, OPT_TIMEOUT },
					      { "rounds", required_argument, NULL, OPT_ROUNDS },
					      { "ignore-output", no_argument, NULL, OPT_IGNORE },
					      { "shipped", required_argument, NULL, OPT_SHIPPED },
					      { "store", required_argument, NULL, OPT_STORE },
					      { "sidecar-dir", required_argument, NULL, OPT_SIDECARS },
					      { "selftest", no_argument, NULL, OPT_SELFTEST },
					      { "benchmark", no_argument, NULL, OPT_BENCHMARK },
					      { "all", no_argument, NULL, OPT_ALL },
					      { "when-idle", no_argument, NULL, OPT_WHEN_IDLE },
					      { "measure-only", no_argument, NULL, OPT_MEASURE_ONLY },
					      { "state", required_argument, NULL, OPT_STATE },
					      { "socket", required_argument, NULL, OPT_SOCKET },
					      { "bus", required_argument, NULL, OPT_BUS },
					      { "list", no_argument, NULL, OPT_LIST },
					      { "help", no_argument, NULL, 'h' },
					      { NULL } };

static int refuse(const char *option, const char *value)
{
	fprintf(stderr, "morph tune: %s: \"%s\" is not usable; see morph-tune(1)\n", option, SHOWN(value));
	return VERB_USAGE;
}

/* -1: there are such candidates; else the exit code */
static int names_check(const char *names)
{
	struct candidates_request request = { .names = names };
	struct candidates ignored;
	struct fault fault;

	return candidates_choose(&request, &ignored, &fault) < 0 ? verb_refuse("tune", &fault) : -1;
}

/* A number option into its place; -1: it is good */
static int number_take(struct tune *tune, int option, const char *value)
{
	const struct {
		int option;
		const char *name;
		double low, high, *ret;
	} numbers[] = { { OPT_ERROR, "--error", 1e-9, 0.2, &tune->error },
			{ OPT_LEAST, "--least", 0, 50, &tune->least_percent },
			{ OPT_MINUTES, "--minutes", 0.001, 1e6, &tune->minutes },
			{ OPT_TIMEOUT, "--timeout", 1, 1e6, &tune->timeout_s },
			{ OPT_ROUNDS, "--rounds", 1, PAIRED_MOST, &tune->most_rounds } };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].option == option)
			return number_parse(value, numbers[i].low, numbers[i].high, numbers[i].ret) ?
				       -1 :
				       refuse(numbers[i].name, value);
	return verb_usage("tune");
}

/* -1: go on; else the exit code */
static int arguments_parse(int argc, char **argv, struct tune *tune)
{
	bool list = false;
	int option, code;

	while ((option = getopt_long(argc, argv, "+o:p:c:j:h", long_options, NULL)) != -1)
		switch (option) {
		case 'o': tune->output = optarg; break;
		case 'p': tune->given_profile = optarg; break;
		case 'c':
			tune->names = optarg;
			code = names_check(tune->names);
			if (code >= 0)
				return code;
			break;
		case 'j': tune->jobs = optarg; break;
		case 'J': tune->json = true; break;
		case OPT_IGNORE: tune->ignores_output = true; break;
		case OPT_SHIPPED: tune->given_shipped = optarg; break;
		case OPT_STORE: tune->store = optarg; break;
		case OPT_SIDECARS: tune->sidecar_dir = optarg; break;
		case OPT_SELFTEST: tune->selftest = true; break;
		case OPT_MEASURE_ONLY: tune->only_measures = true; break;
		case OPT_STATE: tune->state = optarg; break;
		case OPT_SOCKET: tune->daemon.socket = optarg; break;
		case OPT_BUS: tune->daemon.bus = optarg; break;
		case OPT_BENCHMARK: tune->benchmarks = true; break;
		case OPT_ALL: tune->all = tune->benchmarks = true; break;
		case OPT_WHEN_IDLE: tune->when_idle = true; break;
		case OPT_LIST: list = true; break;
		case 'h': return verb_help("tune");
		default:
			code = number_take(tune, option, optarg);
			if (code >= 0)
				return code;
		}
	if (list)
		return candidates_print(tune->json, stdout) < 0 ? VERB_FAILED : VERB_DONE;
	if (tune->all)
		return tune->argument || optind < argc || tune->output || tune->given_profile ||
				       tune->given_shipped || tune->only_measures ?
			       verb_usage("tune") :
			       -1;
	return optind + (tune->argument ? 0 : 1) + (tune->benchmarks ? 0 : 1) <= argc && !tune->when_idle ?
		       -1 :
		       verb_usage("tune");
}

int tune_run(int argc, char **argv);

/* PROGRAM [OPTION...] -- COMMAND...: options may stand before and after the program, all before the first "--". */
int tune_run(int argc, char **argv)
{
	static struct tune tune = { .error = DEFAULT_ERROR,
				    .least_percent = DEFAULT_LEAST_PERCENT,
				    .minutes = DEFAULT_MINUTES,
				    .timeout_s = DEFAULT_TIMEOUT_S,
				    .most_rounds = PAIRED_MOST,
				    .rounds = { .run = { .cpu = -1, .input = STDIN_FILENO } } };
	struct fault fault = { "" };
	int code, r;

	if (argc > 1 && argv[1][0] != '-') {
		tune.argument = argv[1];
		argv[1] = argv[0];
		argv++;
		argc--;
	}
	code = arguments_parse(argc, argv, &tune);
	if (code >= 0)
		return code;
	if (tune.all)
		return tune_programs(&tune, &fault) < 0 ? verb_fail("tune", &fault) : VERB_DONE;
	if (!tune.argument) {
		tune.argument = argv[optind++];
		if (argv[optind] && strcmp(argv[optind], "--") == 0)
			optind++;
	}
	if (!argv[optind] == !tune.benchmarks) /* one of both */
		return verb_usage("tune");
	if (!tune.benchmarks)
		tune.rounds.run.command = argv + optind;
	r = program_look(&tune, &fault);
	if (r == 0)
		r = tune_program(&tune, &fault);
	free(tune.stored);
	return r < 0 ? verb_fail("tune", &fault) : VERB_DONE;
}
