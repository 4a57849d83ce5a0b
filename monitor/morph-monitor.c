/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-monitor: the whole machine, sampled continuously into the spool. Options and settings, signals,
 * the service manager's notifications, the status file; everything else is monitor.h.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/config_file.h"
#include "base/log.h"
#include "base/prefix.h"
#include "base/user_place.h"
#include "monitor/machine/privileges.h"
#include "monitor/monitor.h"
#include "monitor/observe/observer.h"
#include "monitor/source_kind.h"
#include "monitor/status.h"

#define PROGRAM "morph-monitor"
#define STATUS_NAME "status.json"
#define STATE_NAME "state"
#define RECORDER_POLL_MS 200
#define ONCE_S 1.0
#define NS_PER_S 1000000000u

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* --- options -------------------------------------------------------------------------------------- */

#define SHORT_OPTIONS "s:c:r:i:S:F:b:qvVh"

enum { OPTION_OUTPUT = 256, OPTION_ONCE, OPTION_DURATION, OPTION_STATUS, OPTION_FOREGROUND };

static const struct option options[] = {
	{ "spool", required_argument, NULL, 's' },
	{ "config", required_argument, NULL, 'c' },
	{ "run-directory", required_argument, NULL, 'r' },
	{ "interval", required_argument, NULL, 'i' },
	{ "source", required_argument, NULL, 'S' },
	{ "rate", required_argument, NULL, 'F' },
	{ "budget", required_argument, NULL, 'b' },
	{ "output", required_argument, NULL, OPTION_OUTPUT },
	{ "once", no_argument, NULL, OPTION_ONCE },
	{ "duration", required_argument, NULL, OPTION_DURATION },
	{ "status-file", required_argument, NULL, OPTION_STATUS },
	{ "foreground", no_argument, NULL, OPTION_FOREGROUND },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

/* Options that are settings under another name. */
static const char *setting_of(int option)
{
	switch (option) {
	case 's': return "spool";
	case 'r': return "run_directory";
	case 'i': return "interval";
	case 'S': return "source";
	case 'F': return "rate";
	case 'b': return "overhead_budget";
	default: return NULL;
	}
}

static int usage(FILE *out)
{
	fputs("usage: morph-monitor [--spool DIR] [--config FILE] [--run-directory DIR]\n"
	      "           [--interval TIME] [--source SOURCE] [--rate HZ]\n"
	      "           [--budget SHARE] [--output FILE] [--once] [--duration SECONDS]\n"
	      "           [--status-file FILE] [--foreground] [--quiet | --verbose]\n"
	      "See morph-monitor(8).\n"
	      "\nSources:\n",
	      out);
	names_print(out, monitor_source_at);
	return out == stderr ? EXIT_USAGE : EXIT_DONE;
}

static int replace_text(char **text, const char *value)
{
	free(*text);
	*text = strdup(value);
	return *text ? 0 : -ENOMEM;
}

/* One option that is not a setting; -EINVAL: its value is no good. */
static int option_take(int option, const char *value, struct monitor_settings *settings, struct fault *reterr)
{
	char *end;

	switch (option) {
	case OPTION_OUTPUT: return replace_text(&settings->output, value);
	case OPTION_STATUS: return replace_text(&settings->status_file, value);
	case OPTION_ONCE: settings->once = true; return 0;
	case OPTION_DURATION:
		settings->duration_s = strtod(value, &end);
		if (end == value || *end || !(settings->duration_s > 0 && settings->duration_s < 1e9))
			return fault_set(reterr, -EINVAL, "--duration %s: give seconds", value);
		return 0;
	case 'q': log_init(PROGRAM, LOG_LEVEL_WARNING); return 0;
	case 'v': log_init(PROGRAM, LOG_LEVEL_DEBUG); return 0;
	default: return 0;
	}
}

/* The configuration file first, wherever --config stands; the command line overrides it. */
static int config_read(int argc, char **argv, struct monitor_settings *settings, struct fault *reterr)
{
	const char *path = NULL;
	char config[PATH_MAX];
	bool is_own = false;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, SHORT_OPTIONS, options, NULL)) != -1)
		if (c == 'c')
			path = optarg;
		else if (c == 'S')
			is_own = geteuid() != 0 && strcmp(optarg, monitor_source_name(MONITOR_USER)) == 0;
	opterr = 1;
	optind = 0;
	if (path && strcmp(path, "/dev/null") == 0)
		return 0;
	/* What root decided for the machine's is not meant for a user's own. */
	if (!is_own || user_place(USER_CONFIG, "morph/" MONITOR_CONFIG_NAME, config, NULL) < 0)
		prefix_config(MONITOR_CONFIG_NAME, config);
	return monitor_settings_read(path ? path : config, !path, settings, reterr);
}

/* Return: -1 to go on, else an exit status. */
static int options_parse(int argc, char **argv, struct monitor_settings *settings)
{
	struct fault fault;
	int c, r = config_read(argc, argv, settings, &fault);

	while (r == 0 && (c = getopt_long(argc, argv, SHORT_OPTIONS, options, NULL)) != -1) {
		const char *setting = setting_of(c);

		if (c == '?')
			return usage(stderr);
		if (c == 'h')
			return usage(stdout);
		if (c == 'V') {
			puts(PROGRAM " " MORPH_VERSION);
			return EXIT_DONE;
		}
		r = setting ? monitor_settings_set(settings, setting, optarg, &fault) :
			      option_take(c, optarg, settings, &fault);
	}
	if (r == 0 && optind < argc)
		return usage(stderr);
	if (r == 0)
		r = monitor_settings_finish(settings, &fault);
	if (r < 0) {
		log_error("%s", fault.text);
		return EXIT_USAGE;
	}
	if (settings->once && settings->duration_s <= 0)
		settings->duration_s = ONCE_S;
	return -1;
}

/* --- the former monitor --------------------------------------------------------------------------- */

struct state {
	uint64_t pid;	     /* 0: it ended properly */
	uint64_t drained_ns; /* CLOCK_BOOTTIME of its last drain; the file is gone after a reboot */
};

static const struct config_key state_keys[] = {
	{ "pid", CONFIG_UINT, offsetof(struct state, pid), 0, 0 },
	{ "drained_ns", CONFIG_UINT, offsetof(struct state, drained_ns), 0, 0 },
	{ NULL, 0, 0, 0, 0 },
};

static void run_path(const struct monitor_settings *settings, const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s", settings->run_directory, name);
}

/* A monitor that was killed lost what it had not drained. Say so, once. */
static void former_report(const struct monitor_settings *settings)
{
	struct state state = { 0 };
	char path[PATH_MAX];
	struct fault fault;
	uint64_t now = clock_ns(CLOCK_BOOTTIME);

	run_path(settings, STATE_NAME, path);
	if (settings->output || config_file_read(path, state_keys, &state, &fault) < 0 || !state.pid)
		return;
	log_warning("the former monitor (process %" PRIu64 ") did not end properly; samples since its last "
		    "drain, %.1f s ago, are lost",
		    state.pid, now > state.drained_ns ? (double)(now - state.drained_ns) / 1e9 : 0.0);
}

static void state_write(const struct monitor_settings *settings, bool is_running)
{
	char path[PATH_MAX], new[PATH_MAX + 8];
	FILE *file;

	if (settings->output)
		return;
	run_path(settings, STATE_NAME, path);
	snprintf(new, sizeof(new), "%s.new", path);
	file = fopen(new, "we");
	if (!file)
		return;
	fprintf(file, "pid = %d\ndrained_ns = %" PRIu64 "\n", is_running ? getpid() : 0,
		clock_ns(CLOCK_BOOTTIME));
	if (fclose(file) != 0 || rename(new, path) < 0)
		unlink(new);
}

/* --- the loop ------------------------------------------------------------------------------------- */

static void publish(struct monitor *monitor, const struct monitor_settings *settings)
{
	struct monitor_status status;
	char path[PATH_MAX];
	struct fault fault;
	static bool was_said;

	monitor_status(monitor, &status);
	if (settings->output && !settings->status_file)
		return;
	if (settings->status_file)
		snprintf(path, sizeof(path), "%s", settings->status_file);
	else
		run_path(settings, STATUS_NAME, path);
	if (status_write(&status, path, &fault) < 0 && !was_said) {
		log_warning("%s", fault.text);
		was_said = true;
	}
	sd_notifyf(0, "WATCHDOG=1\nSTATUS=%s, %.0f samples, %" PRIu64 " logs, %.4f %% of CPU time",
		   monitor_source_name(status.source.kind), (double)(status.user + status.kernel),
		   status.n_logs, status.rates.total_share * 100);
}

static int signals_open(struct fault *reterr)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? fault_errno(reterr, -errno, "signalfd") : fd;
}

static int timeout_until(uint64_t when_ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	double ms = when_ns > now ? ceil((double)(when_ns - now) / 1e6) : 0;

	return (int)MIN(ms, 60000.0);
}

/* A hangup asks the service to look for requests; it ends what writes one file, unless it is ignored (nohup(1)). */
static bool hangup_ends(const struct monitor_settings *settings)
{
	struct sigaction action;

	return settings->output && !(sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
}

/* Return: 1 when it is time to end. */
static int wait_once(struct monitor *monitor, const struct monitor_settings *settings, int signals,
		     uint64_t end_ns, bool is_recorder, struct fault *reterr)
{
	uint64_t next = MIN(monitor_next_ns(monitor), end_ns);
	int timeout = timeout_until(next);
	struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
				{ .fd = monitor_fd(monitor), .events = POLLIN } };
	struct signalfd_siginfo info;
	int r;

	if (is_recorder) {
		r = monitor_work(monitor, MIN(timeout, RECORDER_POLL_MS), reterr);
	} else {
		r = poll(fds, 2, timeout) < 0 && errno != EINTR ? fault_errno(reterr, -errno, "poll") : 0;
		if (r == 0 && fds[1].revents)
			r = monitor_work(monitor, 0, reterr);
	}
	if (r < 0)
		return r;
	while (read(signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGHUP || hangup_ends(settings))
			return 1;
		monitor_requests(monitor);
	}
	return clock_ns(CLOCK_MONOTONIC) >= end_ns;
}

static int loop(struct monitor *monitor, const struct monitor_settings *settings, int signals,
		bool is_recorder, struct fault *reterr)
{
	uint64_t end_ns = UINT64_MAX;
	int r;

	if (settings->duration_s > 0)
		end_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(settings->duration_s * 1e9);
	for (;;) {
		r = wait_once(monitor, settings, signals, end_ns, is_recorder, reterr);
		if (r != 0)
			break;
		if (clock_ns(CLOCK_MONOTONIC) < monitor_next_ns(monitor) || settings->once)
			continue;
		r = monitor_cycle(monitor, false, reterr);
		if (r < 0)
			break;
		state_write(settings, true);
		publish(monitor, settings);
	}
	if (r < 0)
		return r;
	sd_notify(0, "STOPPING=1");
	r = monitor_cycle(monitor, true, reterr);
	publish(monitor, settings);
	return r;
}

static int run(const struct monitor_settings *settings, struct fault *reterr)
{
	_clean_(monitor_freep) struct monitor *monitor = NULL;
	_clean_(fd_closep) int signals = signals_open(reterr);
	struct monitor_status status;
	struct fault unsupported;
	int r = signals < 0 ? signals : monitor_open(settings, &monitor, reterr);

	if (r < 0)
		return r;
	former_report(settings);
	monitor_status(monitor, &status);
	r = privileges_drop(source_kind_of(status.source.kind)->is_recorder, settings->output, reterr);
	if (r < 0)
		return r;
	if (status.source.reason[0])
		log_warning("sampling by %s, because %s", monitor_source_name(status.source.kind),
			    status.source.reason);
	log_info("sampling by %s%s%s; an interrupt costs %.1f us here",
		 monitor_source_name(status.source.kind),
		 *status.source.reference_reason ? "; no reference clock: " : " with a reference clock",
		 status.source.reference_reason, status.cost.interrupt_ns / 1e3);
	if (observer_supported(&unsupported) < 0)
		log_info("%s", unsupported.text);
	state_write(settings, true);
	publish(monitor, settings);
	sd_notify(0, "READY=1");
	r = loop(monitor, settings, signals, source_kind_of(status.source.kind)->is_recorder, reterr);
	if (r == 0)
		state_write(settings, false);
	return r;
}

int main(int argc, char **argv)
{
	_clean_(monitor_settings_donep) struct monitor_settings settings;
	struct fault fault;
	int r;

	log_init(PROGRAM, LOG_LEVEL_INFO);
	if (monitor_settings_init(&settings) < 0) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	r = options_parse(argc, argv, &settings);
	if (r >= 0)
		return r;
	r = run(&settings, &fault);
	if (r < 0)
		log_error("%s", fault.text);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
