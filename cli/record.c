/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph record: sample one command (with its children), running processes, a cgroup, or the whole
 * machine, and write a sample log. The command waits until sampling is ready, so nothing of it is missed.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/prefix.h"
#include "base/text.h"
#include "cli/shared/number.h"
#include "cli/verb.h"
#include "monitor/machine/privileges.h"
#include "monitor/perf/launch.h"
#include "monitor/record/recorder.h"
#include "profiles/samples/sample_log.h"

#define DEFAULT_RATE_HZ 999.0
#define DEFAULT_OUTPUT "morph.samples"
#define MAX_PIDS 256
#define POLL_MS 100
#define MAX_DURATION_S 1e9

struct request {
	struct recorder_options recorder;
	const char *rate; /* as given; NULL: the default */
	pid_t pids[MAX_PIDS];
	const char *output;
	double duration_s; /* infinite: until the command ends, or an interrupt */
	char **command;	   /* NULL: none */
	bool quiet, json;  /* json: the summary; on standard error, for standard output is the command's */
};

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
	else if (strcmp(name, "faults") == 0)
		request->recorder.clock = PERF_CLOCK_FAULTS;
	else if (strcmp(name, "cycles") == 0 || request->recorder.branches)
		request->recorder.clock = PERF_CLOCK_CYCLES;
	else
		return false;
	return true;
}

static int bad_value(const char *option, const char *value)
{
	fprintf(stderr, "morph record: %s: \"%s\" is not usable; see morph-record(1)\n", option,
		SHOWN(value));
	return VERB_USAGE;
}

/* Exactly one of: a command, processes, a cgroup, the whole machine. */
static int target_take(struct request *request, bool all)
{
	if (!!request->command + !!request->recorder.n_pids + !!request->recorder.cgroup + all != 1)
		return verb_usage("record");
	request->recorder.target = all			    ? RECORDER_ALL :
				   request->recorder.cgroup ? RECORDER_CGROUP :
							      RECORDER_TASKS;
	return VERB_DONE;
}

static int request_parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },   { "frequency", required_argument, NULL, 'F' },
		{ "duration", required_argument, NULL, 'd' }, { "pid", required_argument, NULL, 'p' },
		{ "cgroup", required_argument, NULL, 'G' },   { "all", no_argument, NULL, 'a' },
		{ "clock", required_argument, NULL, 'c' },    { "quiet", no_argument, NULL, 'q' },
		{ "files", no_argument, NULL, 'f' },	      { "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },	      { 0 },
	};
	bool all = false;
	int c;

	/* '+': options end at the command's name, which may have options of its own */
	while ((c = getopt_long(argc, argv, "+o:F:d:p:G:ac:qh", options, NULL)) != -1)
		switch (c) {
		case 'o': request->output = optarg; break;
		case 'F':
			if (!number_parse(optarg, 1, 100000, &request->recorder.rate_hz))
				return bad_value("-F", optarg);
			request->rate = optarg;
			break;
		case 'd':
			if (!number_parse(optarg, 0.001, MAX_DURATION_S, &request->duration_s))
				return bad_value("--duration", optarg);
			break;
		case 'p':
			if (!pids_parse(optarg, request))
				return bad_value("--pid", optarg);
			break;
		case 'G': request->recorder.cgroup = optarg; break;
		case 'a': all = true; break;
		case 'f': request->recorder.tells_files = true; break;
		case 'c':
			if (!clock_parse(optarg, request))
				return bad_value("--clock", optarg);
			break;
		case 'q': request->quiet = true; break;
		case 'j': request->json = true; break;
		case 'h': verb_help("record"); return -1;
		default: return verb_usage("record");
		}
	request->command = optind < argc ? argv + optind : NULL;
	return target_take(request, all);
}

/* What ends a recording: an interrupt, or the end of the command. */
struct ending {
	int signals, epoll; /* -1: none */
	pid_t command;	    /* 0: none */
};

static void ending_done(struct ending *ending)
{
	if (ending->signals >= 0)
		close(ending->signals);
	if (ending->epoll >= 0)
		close(ending->epoll);
}

static int poll_add(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

/* nohup(1): what is blocked would come all the same */
static bool hangup_is_ignored(void)
{
	struct sigaction action;

	return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* @launch: NULL without a command. Signals are taken before anything is started, so none is missed. */
static int ending_open(const struct launch *launch, struct ending *ret, struct fault *reterr)
{
	sigset_t set;

	*ret = (struct ending){ .signals = -1, .epoll = epoll_create1(EPOLL_CLOEXEC) };
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (!hangup_is_ignored())
		sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ret->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (ret->epoll < 0 || ret->signals < 0 || poll_add(ret->epoll, ret->signals) < 0 ||
	    (launch && poll_add(ret->epoll, launch->pidfd) < 0))
		return fault_errno(reterr, -errno, "cannot wait for signals");
	ret->command = launch ? launch->pid : 0;
	return 0;
}

/*
 * Is it over? Without a command an interrupt ends the recording, and what was sampled is written. A
 * command gets SIGTERM passed on (SIGINT and SIGHUP come to it from the terminal), and its end is what counts.
 */
static bool ending_came(const struct ending *ending)
{
	struct signalfd_siginfo info;
	struct epoll_event event;

	if (read(ending->signals, &info, sizeof(info)) == sizeof(info)) {
		if (!ending->command)
			return true;
		if (info.ssi_signo == SIGTERM || info.ssi_code == SI_USER)
			kill(ending->command, (int)info.ssi_signo);
		return false;
	}
	return ending->command && epoll_wait(ending->epoll, &event, 1, 0) > 0;
}

static int sample(struct recorder *recorder, const struct request *request, const struct ending *ending,
		  struct fault *reterr)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	int r = 0;

	while (r == 0) {
		double left_s = request->duration_s - (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9;

		if (left_s <= 0)
			break;
		r = recorder_wait(recorder, ending->epoll,
				  left_s * 1e3 < POLL_MS ? (int)ceil(left_s * 1e3) : POLL_MS, reterr);
		if (r > 0 && !ending_came(ending))
			r = 0;
	}
	return r < 0 ? r : recorder_stop(recorder, reterr);
}

static int record_launched(const struct request *request, struct launch *launch, struct sample_log **ret,
			   int *retstatus, struct fault *reterr)
{
	_clean_(recorder_freep) struct recorder *recorder = NULL;
	_clean_(ending_done) struct ending ending;
	struct recorder_options options = request->recorder;
	int r = ending_open(launch, &ending, reterr);

	options.pids = &launch->pid;
	options.n_pids = 1;
	options.enable_on_exec = true;
	if (r == 0)
		r = recorder_open(&options, &recorder, reterr);
	if (r == 0)
		r = launch_go(launch, request->command[0], reterr);
	if (r == 0)
		r = sample(recorder, request, &ending, reterr);
	if (r == 0)
		r = recorder_log(recorder, ret, reterr);
	if (r < 0)
		return r;
	recorder_free(TAKE(recorder)); /* the command may go on, at full speed */
	return launch_wait(launch, retstatus, reterr);
}

static int record_command(const struct request *request, struct sample_log **ret, int *retstatus,
			  struct fault *reterr)
{
	_clean_(launch_donep) struct launch launch = { .pidfd = -1, .gate = -1, .result = -1 };
	int r = launch_open(request->command, &launch, reterr);

	return r < 0 ? r : record_launched(request, &launch, ret, retstatus, reterr);
}

static int record_running(const struct request *request, struct sample_log **ret, struct fault *reterr)
{
	_clean_(recorder_freep) struct recorder *recorder = NULL;
	_clean_(ending_done) struct ending ending;
	struct recorder_options options = request->recorder;
	int r = ending_open(NULL, &ending, reterr);

	options.pids = request->pids;
	if (r == 0)
		r = recorder_open(&options, &recorder, reterr);
	if (r == 0)
		r = sample(recorder, request, &ending, reterr);
	return r < 0 ? r : recorder_log(recorder, ret, reterr);
}

static int monitor_run(char *argv[], struct fault *reterr)
{
	_clean_(launch_donep) struct launch launch = { .pidfd = -1, .gate = -1, .result = -1 };
	_clean_(ending_done) struct ending ending = { -1, -1, 0 };
	int status = 0, r = launch_open(argv, &launch, reterr);

	if (r == 0)
		r = ending_open(&launch, &ending, reterr);
	if (r == 0)
		r = launch_go(&launch, argv[0], reterr);
	while (r == 0) {
		struct epoll_event event;

		if (epoll_wait(ending.epoll, &event, 1, -1) > 0 && ending_came(&ending))
			break;
	}
	if (r == 0)
		r = launch_wait(&launch, &status, reterr);
	if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		r = fault_set(reterr, -ECHILD, "%s failed; its message is above", argv[0]);
	return r;
}

/* Return: 1: done; 0: there is no monitor program, or it may not use BPF; -errno. */
static int record_by_monitor(const struct request *request, struct fault *reterr)
{
	char program[PATH_MAX + 32], duration[64];
	char *argv[12] = { program, "--output", (char *)request->output, "--config", "/dev/null", "--quiet" };
	int n = 6, r;

	/* The whole machine is the monitor's business: it samples in the kernel, at the tick, within its budget. */
	if (request->recorder.target != RECORDER_ALL || request->recorder.clock != PERF_CLOCK_CPU ||
	    !privileges_has(CAP_BPF) || prefix_program(PREFIX_SBIN, "morph-monitor", program, NULL) < 0)
		return 0;
	if (isfinite(request->duration_s)) {
		snprintf(duration, sizeof(duration), "%.6f", request->duration_s);
		argv[n++] = "--duration";
		argv[n++] = duration;
	}
	if (request->rate) {
		argv[n++] = "--source=cpu-clock";
		argv[n++] = "--rate";
		argv[n++] = (char *)request->rate;
	}
	r = monitor_run(argv, reterr);
	return r < 0 ? r : 1;
}

static void summary_json(const struct sample_log *log, const struct request *request, uint64_t lost)
{
	struct json json = json_to(stderr);

	json_object_begin(&json, NULL);
	json_string(&json, "output", request->output);
	json_u64(&json, "samples", log->attributed + log->anonymous + log->kernel);
	json_u64(&json, "attributed", log->attributed);
	json_u64(&json, "kernel", log->kernel);
	json_u64(&json, "lost", lost);
	json_double(&json, "duration_seconds", (double)log->duration_ns / 1e9);
	json_double(&json, "rate_hz", log->rate_hz);
	json_object_end(&json);
}

static void summary(const struct sample_log *log, const struct request *request)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < SAMPLE_LOSS_END; i++)
		lost += log->lost[i];
	if (request->json) {
		summary_json(log, request, lost);
		return;
	}
	fprintf(stderr, "%s: %" PRIu64 " samples in %.2f s at %.4g Hz", SHOWN(request->output),
		log->attributed + log->anonymous + log->kernel, (double)log->duration_ns / 1e9, log->rate_hz);
	if (lost)
		fprintf(stderr, ", %" PRIu64 " lost (%.2f %%)", lost,
			100 * (double)lost / (double)MAX(log->user, 1u));
	if (!log->kernel && !privileges_has(CAP_PERFMON))
		fputs(", user mode only", stderr);
	fputc('\n', stderr);
}

/* The samples of a command that failed are still worth keeping, yet a script must notice. */
static int command_verdict(const struct request *request, int status)
{
	if (!request->command || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return VERB_DONE;
	if (WIFSIGNALED(status))
		fprintf(stderr, "morph record: %s was killed by signal %d (%s)\n", SHOWN(request->command[0]),
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		fprintf(stderr, "morph record: %s exited with status %d\n", SHOWN(request->command[0]),
			WEXITSTATUS(status));
	return VERB_FAILED;
}

static int record_here(const struct request *request, struct sample_log **ret, int *retstatus,
		       struct fault *reterr)
{
	int r = request->command ? record_command(request, ret, retstatus, reterr) :
				   record_running(request, ret, reterr);

	if (r == 0)
		r = sample_log_check(*ret, reterr);
	return r < 0 ? r : sample_log_write(*ret, request->output, reterr);
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
	r = file_write_check(request.output, &fault); /* before the command is started */
	if (r == 0)
		r = record_by_monitor(&request, &fault);
	if (r > 0)
		r = sample_log_read(request.output, &log, &fault);
	else if (r == 0)
		r = record_here(&request, &log, &status, &fault);
	if (r < 0)
		return verb_fail("record", &fault);
	if (!request.quiet)
		summary(log, &request);
	return command_verdict(&request, status);
}
