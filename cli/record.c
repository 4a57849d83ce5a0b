/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph record: sample one command (with its children), running processes, a cgroup, or the whole
 * machine, and write a sample log. The command waits until sampling is ready, so nothing of it is missed.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/verb.h"
#include "monitor/launch.h"
#include "monitor/recorder.h"
#include "profiles/sample_log.h"

#define DEFAULT_RATE_HZ 999.0
#define DEFAULT_OUTPUT "morph.samples"
#define MAX_PIDS 256
#define POLL_MS 100
#define MAX_DURATION_S 1e9

struct request {
	struct recorder_options recorder;
	pid_t pids[MAX_PIDS];
	const char *output;
	double duration_s; /* infinite: until the command ends, or an interrupt */
	char **command;	   /* NULL: none */
	bool quiet;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool number_parse(const char *text, double low, double high, double *ret)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= low && value <= high))
		return false;
	*ret = value;
	return true;
}

static bool pids_parse(const char *text, struct request *request)
{
	for (const char *at = text;; at++) {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at || pid <= 0 || pid > INT32_MAX || request->recorder.n_pids == MAX_PIDS ||
		    (*end && *end != ','))
			return false;
		request->pids[request->recorder.n_pids++] = (pid_t)pid;
		if (!*end)
			return true;
		at = end;
	}
}

static bool clock_parse(const char *name, struct request *request)
{
	request->recorder.branches = strcmp(name, "branches") == 0;
	if (strcmp(name, "cpu") == 0)
		request->recorder.clock = PERF_CLOCK_CPU;
	else if (strcmp(name, "cycles") == 0 || request->recorder.branches)
		request->recorder.clock = PERF_CLOCK_CYCLES;
	else
		return false;
	return true;
}

static int bad_value(const char *option, const char *value)
{
	fprintf(stderr, "morph record: %s: \"%s\" is not usable; see morph-record(1)\n", option, value);
	return VERB_USAGE;
}

/* Exactly one of: a command, processes, a cgroup, the whole machine. */
static bool has_one_target(const struct request *request, bool all)
{
	return !!request->command + !!request->recorder.n_pids + !!request->recorder.cgroup + all == 1;
}

static int request_parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },    { "frequency", required_argument, NULL, 'F' },
		{ "duration", required_argument, NULL, 'd' },  { "pid", required_argument, NULL, 'p' },
		{ "cgroup", required_argument, NULL, 'G' },    { "all", no_argument, NULL, 'a' },
		{ "clock", required_argument, NULL, 'c' },     { "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },	       { 0 },
	};
	bool all = false;
	int c;

	/* '+': options end at the command's name, which may have options of its own */
	while ((c = getopt_long(argc, argv, "+o:F:d:p:G:ac:qh", options, NULL)) != -1)
		switch (c) {
		case 'o':
			request->output = optarg;
			break;
		case 'F':
			if (!number_parse(optarg, 1, 100000, &request->recorder.rate_hz))
				return bad_value("-F", optarg);
			break;
		case 'd':
			if (!number_parse(optarg, 0.001, MAX_DURATION_S, &request->duration_s))
				return bad_value("--duration", optarg);
			break;
		case 'p':
			if (!pids_parse(optarg, request))
				return bad_value("--pid", optarg);
			break;
		case 'G':
			request->recorder.cgroup = optarg;
			break;
		case 'a':
			all = true;
			break;
		case 'c':
			if (!clock_parse(optarg, request))
				return bad_value("--clock", optarg);
			break;
		case 'q':
			request->quiet = true;
			break;
		case 'h':
			verb_help("record");
			return -1;
		default:
			return verb_usage("record");
		}
	request->command = optind < argc ? argv + optind : NULL;
	if (!has_one_target(request, all))
		return verb_usage("record");
	request->recorder.target = all ? RECORDER_ALL :
				   request->recorder.cgroup ? RECORDER_CGROUP :
							      RECORDER_TASKS;
	return VERB_DONE;
}

/*
 * SIGINT ends the recording, not us: what was sampled is written. A command gets the terminal's SIGINT
 * itself; we go on until it has ended.
 */
static int interrupts_open(struct fault *reterr)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? fault_errno(reterr, -errno, "signalfd") : fd;
}

/* Until the time is over, the watched thing (@fd) has ended, or an interrupt arrives. */
static int sample(struct recorder *recorder, const struct request *request, int fd, struct fault *reterr)
{
	uint64_t start = now_ns();
	int r = 0;

	while (r == 0) {
		double left_s = request->duration_s - (double)(now_ns() - start) / 1e9;

		if (left_s <= 0)
			break;
		r = recorder_wait(recorder, fd, left_s * 1e3 < POLL_MS ? (int)ceil(left_s * 1e3) : POLL_MS,
				  reterr);
	}
	return r < 0 ? r : recorder_stop(recorder, reterr);
}

static int record_command(const struct request *request, struct sample_log **ret, int *retstatus,
			  struct fault *reterr)
{
	_clean_(launch_donep) struct launch launch = { .pidfd = -1, .gate = -1, .result = -1 };
	_clean_(recorder_freep) struct recorder *recorder = NULL;
	struct recorder_options options = request->recorder;
	int r = launch_open(request->command, &launch, reterr);

	if (r < 0)
		return r;
	options.pids = &launch.pid;
	options.n_pids = 1;
	options.enable_on_exec = true;
	r = recorder_open(&options, &recorder, reterr);
	if (r < 0)
		return r;
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	r = launch_go(&launch, request->command[0], reterr);
	if (r == 0)
		r = sample(recorder, request, launch.pidfd, reterr);
	if (r == 0)
		r = recorder_log(recorder, ret, reterr);
	if (r == 0)
		r = launch_wait(&launch, retstatus, reterr);
	return r;
}

static int record_running(const struct request *request, struct sample_log **ret, struct fault *reterr)
{
	_clean_(recorder_freep) struct recorder *recorder = NULL;
	struct recorder_options options = request->recorder;
	_clean_(fd_closep) int fd = interrupts_open(reterr);
	int r = fd < 0 ? fd : 0;

	options.pids = request->pids;
	if (r == 0)
		r = recorder_open(&options, &recorder, reterr);
	if (r == 0)
		r = sample(recorder, request, fd, reterr);
	return r < 0 ? r : recorder_log(recorder, ret, reterr);
}

static void summary(const struct sample_log *log, const struct request *request)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < SAMPLE_LOSS_END; i++)
		lost += log->lost[i];
	fprintf(stderr, "%s: %" PRIu64 " samples in %.2f s at %.4g Hz", request->output,
		log->attributed + log->anonymous + log->kernel, (double)log->duration_ns / 1e9, log->rate_hz);
	if (lost)
		fprintf(stderr, ", %" PRIu64 " lost (%.2f %%)", lost,
			100 * (double)lost / (double)MAX(log->user, 1u));
	if (!log->kernel && request->recorder.target == RECORDER_TASKS)
		fputs(", user mode only", stderr);
	fputc('\n', stderr);
}

/* The samples of a command that failed are still worth keeping, yet a script must notice. */
static int command_verdict(const struct request *request, int status)
{
	if (!request->command || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return VERB_DONE;
	if (WIFSIGNALED(status))
		fprintf(stderr, "morph record: %s was killed by signal %d (%s)\n", request->command[0],
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		fprintf(stderr, "morph record: %s exited with status %d\n", request->command[0],
			WEXITSTATUS(status));
	return VERB_FAILED;
}

int record_run(int argc, char **argv)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct request request = {
		.recorder = { .target = RECORDER_TASKS, .clock = PERF_CLOCK_CPU, .rate_hz = DEFAULT_RATE_HZ },
		.output = DEFAULT_OUTPUT,
		.duration_s = INFINITY,
	};
	struct fault fault;
	int status = 0, r = request_parse(argc, argv, &request);

	if (r != VERB_DONE)
		return r < 0 ? VERB_DONE : r;
	if (request.command)
		r = record_command(&request, &log, &status, &fault);
	else
		r = record_running(&request, &log, &fault);
	if (r == 0)
		r = sample_log_check(log, &fault);
	if (r == 0)
		r = sample_log_write(log, request.output, &fault);
	if (r < 0)
		return verb_fail("record", &fault);
	if (!request.quiet)
		summary(log, &request);
	return command_verdict(&request, status);
}
