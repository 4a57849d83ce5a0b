/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph benchmark PROGRAM: the packager's benchmark command (morph cc --morph-benchmark=), once, in the sandbox
 *
 * The program stands where it always does; $PROGRAM says where. What it costs is what `morph tune --benchmark` compares.
 * The exit code is the command's.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/benchmark/benchmark_of.h"
#include "cli/shared/number.h"
#include "cli/shared/run.h"
#include "cli/shared/shipped.h"
#include "cli/verb.h"
#include "sandbox/account.h"
#include "sandbox/sandbox.h"
#include "sandbox/shell.h"

#define DEFAULT_TIMEOUT_S 600.0
#define MEMORY_BYTES (8ull << 30) /* of each process */
#define FILE_BYTES (1ull << 30)
#define PROCESSES_MAX 256u
#define STATUS_NONE 125 /* the command could not be run */

struct benchmark {
	const char *argument, *command, *user, *sidecar_dir;
	double timeout_s;
	bool json, is_quiet;
	char program[PATH_MAX], directory[PATH_MAX];
	char *stored; /* owned: the packager's command */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

static void signals_catch(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static int on_tick(_unused_ void *userdata)
{
	return interrupted;
}

/* Inside. A command that a signal ended has the exit status that a shell says of it. */
static int command_run(void *userdata)
{
	const struct benchmark *b = userdata;
	struct shell shell = { .command = b->command,
			       .program = b->program,
			       .directory = b->directory,
			       .memory_bytes = MEMORY_BYTES };
	struct fault fault = { "" };
	int status = 0, r = shell_run(&shell, &status, &fault);

	if (r < 0)
		log_error("%s", fault.text);
	return r < 0 ? STATUS_NONE : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int directory_make(struct benchmark *b, uid_t *retuid, gid_t *retgid, struct fault *reterr)
{
	const char *tmp = getenv("TMPDIR");
	int r = account_find(b->user, retuid, retgid, reterr);

	if (r < 0)
		return r;
	if (snprintf(b->directory, sizeof(b->directory), "%s/morph-benchmark.XXXXXX",
		     tmp && *tmp ? tmp : "/tmp") >= PATH_MAX - NAME_MAX ||
	    !mkdtemp(b->directory))
		return fault_errno(reterr, -errno, "%s: no directory for the benchmark",
				   tmp && *tmp ? tmp : "/tmp");
	if (*retuid != (uid_t)-1)
		r = account_give(b->directory, *retuid, *retgid);
	if (r < 0) {
		rmdir(b->directory);
		return fault_errno(reterr, r, "%s: cannot be given to the sandbox's user", b->directory);
	}
	return 0;
}

/* The sandbox prints what the command does to standard error; without --json that leads to standard output meanwhile. */
static int sandbox_out(const struct benchmark *b, const struct sandbox_options *options, int *retstatus,
		       struct fault *reterr)
{
	_clean_(fd_closep) int errors = dup(STDERR_FILENO);
	struct sandbox_report walls;
	char gaps[256];
	int r;

	if (errors < 0 || (!b->json && dup2(STDOUT_FILENO, STDERR_FILENO) < 0))
		return fault_errno(reterr, -errno, "standard error");
	r = sandbox_run(options, command_run, &walls, retstatus, reterr);
	dup2(errors, STDERR_FILENO);
	if (r == 0 && sandbox_gaps(&walls, gaps, sizeof(gaps))[0])
		log_warning("the sandbox has gaps on this system: %s", gaps);
	return r;
}

static int benchmark_run_in(struct benchmark *b, uid_t uid, gid_t gid, int *retstatus, struct fault *reterr)
{
	const char *readable[] = { SANDBOX_SYSTEM, b->program, NULL };
	struct sandbox_options options = {
		.uid = uid,
		.gid = gid,
		.directory = b->directory,
		.readable = readable,
		.limits = { .file_bytes = FILE_BYTES,
			    .cpu_s = (unsigned)b->timeout_s,
			    .n_processes = PROCESSES_MAX },
		.timeout_s = (unsigned)b->timeout_s,
		.keep_fd = -1,
		.tick = on_tick,
		.userdata = b,
	};
	int r = sandbox_out(b, &options, retstatus, reterr);

	if (r == -ECANCELED)
		return fault_set(reterr, -EINTR, "interrupted");
	if (r == -ETIMEDOUT)
		return fault_set(reterr, r, "the benchmark took longer than %.0f s; see --timeout",
				 b->timeout_s);
	return r;
}

static void cost_show(const struct benchmark *b, int status)
{
	struct run_result result = { .status = status };
	struct json json = json_to(stdout);
	struct rusage usage;
	char end[RUN_END_TEXT];

	getrusage(RUSAGE_CHILDREN, &usage);
	result.user_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
	result.system_s = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
	if (b->json) {
		json_object_begin(&json, NULL);
		json_string(&json, "program", b->program);
		json_string(&json, "command", b->command);
		json_u64(&json, "status", (uint64_t)WEXITSTATUS(status));
		json_double(&json, "user_s", result.user_s);
		json_double(&json, "system_s", result.system_s);
		json_object_end(&json);
	} else if (!b->is_quiet) {
		fflush(stdout);
		fprintf(stderr, "%s: %s, %.3f s of CPU time\n", SHOWN(b->program), run_end(&result, end),
			run_cpu_s(&result));
	}
}

static int stored_find(struct benchmark *b, struct fault *reterr)
{
	char shipped[PATH_MAX];
	int r = shipped_find(b->program, NULL, shipped, reterr);

	if (r == -EINVAL) /* no generation: it is the shipped file itself */
		r = benchmark_of(b->program, b->sidecar_dir, &b->stored, reterr);
	else if (r == 0)
		r = benchmark_of(shipped, b->sidecar_dir, &b->stored, reterr);
	else if (r == -ENOENT || r == -EACCES)
		r = fault_set(
			reterr, r,
			"%s: a generation, and morphd's store has not its shipped file, which names the "
			"command; give one with --command, or the shipped file in place of the program",
			b->program);
	b->command = b->stored;
	return r;
}

/* Return: the command's exit status; -errno */
static int benchmark(struct benchmark *b, struct fault *reterr)
{
	int status = 0, r;
	uid_t uid;
	gid_t gid;

	if (!realpath(b->argument, b->program))
		return fault_errno(reterr, -errno, "%s", b->argument);
	if (!b->command) {
		r = stored_find(b, reterr);
		if (r < 0)
			return r;
	}
	r = directory_make(b, &uid, &gid, reterr);
	if (r < 0)
		return r;
	signals_catch();
	r = benchmark_run_in(b, uid, gid, &status, reterr);
	file_remove_tree(b->directory, NULL);
	if (r < 0)
		return r;
	if (WIFSIGNALED(status))
		return fault_set(reterr, -ECHILD, "the benchmark died of signal %d (%s)", WTERMSIG(status),
				 strsignal(WTERMSIG(status)));
	cost_show(b, status);
	return WEXITSTATUS(status);
}

enum { OPT_COMMAND = 1000, OPT_TIMEOUT, OPT_USER, OPT_SIDECARS };

static const struct option long_options[] = { { "command", required_argument, NULL, OPT_COMMAND },
					      { "timeout", required_argument, NULL, OPT_TIMEOUT },
					      { "user", required_argument, NULL, OPT_USER },
					      { "sidecar-dir", required_argument, NULL, OPT_SIDECARS },
					      { "quiet", no_argument, NULL, 'q' },
					      { "json", no_argument, NULL, 'J' },
					      { "help", no_argument, NULL, 'h' },
					      { NULL } };

int benchmark_run(int argc, char **argv);

int benchmark_run(int argc, char **argv)
{
	struct benchmark b = { .timeout_s = DEFAULT_TIMEOUT_S };
	struct fault fault = { "" };
	int option, r;

	while ((option = getopt_long(argc, argv, "qh", long_options, NULL)) != -1)
		switch (option) {
		case OPT_COMMAND: b.command = optarg; break;
		case OPT_TIMEOUT:
			if (!number_parse(optarg, 1, 1e6, &b.timeout_s))
				return verb_usage("benchmark");
			break;
		case OPT_USER: b.user = optarg; break;
		case OPT_SIDECARS: b.sidecar_dir = optarg; break;
		case 'q': b.is_quiet = true; break;
		case 'J': b.json = true; break;
		case 'h': return verb_help("benchmark");
		default: return verb_usage("benchmark");
		}
	if (optind + 1 != argc)
		return verb_usage("benchmark");
	b.argument = argv[optind];
	r = benchmark(&b, &fault);
	free(b.stored);
	return r < 0 ? (verb_fail("benchmark", &fault), STATUS_NONE) : r;
}
