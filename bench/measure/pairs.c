/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-pairs: one command in several directories that hold variants of the same program
 *
 *	1. Each round runs the command once in every directory, in an order drawn anew, on one CPU.
 *	2. A run's figure is its user plus system CPU time (wait4(2)), children included.
 *	3. A variant's figure is its ratio to the base (the first directory) in the same round.
 *	4. Standard output is compared byte for byte with the base's first.
 *
 * The command is relative to the directory (`bin/lua5.4`, say), the environment is fixed and does
 *not name the directory: so the stack starts at the same place in every variant, which by itself
 *can be worth more than an optimization (Mytkowicz et al., "Producing wrong data without doing
 *anything obviously wrong", ASPLOS 2009). Addresses are randomized as the system does, so medians
 *are over layouts.
 *
 * A variant that fails is reported with its reason and not run again; a base that fails ends it
 *all.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/macro.h"
#include "base/progress.h"
#include "bench/measure/stats.h"

struct variant {
	const char *directory;	 /* borrowed from argv */
	double *cpu_s;		 /* owned; one per measured round */
	double user_s, system_s; /* sums over the measured rounds */
	long max_rss_kib;
	bool identical;
	char failed[256]; /* why; empty: it ran */
};

struct pairs {
	char **command;		  /* borrowed from argv */
	struct variant *variants; /* owned */
	size_t n_variants;
	size_t n_rounds, n_warmups, done; /* done: measured rounds */
	int cpu;			  /* -1: wherever the kernel likes */
	unsigned limit_s;		  /* wall clock, one run; 0: none */
	uint64_t seed;
	int first_output; /* memfd with the base's first output; -1 until then */
	char *environment[32];
	size_t n_environment;
};

/* ---- one run ---- */

_noreturn_ static void run_child(const struct pairs *p, const char *directory, int out)
{
	cpu_set_t set;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	CPU_ZERO(&set);
	CPU_SET((size_t)MAX(p->cpu, 0), &set);
	if (p->cpu >= 0 && sched_setaffinity(0, sizeof(set), &set) < 0)
		_exit(126);
	if (chdir(directory) < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(126);
	/* Its own group, so that the time limit ends its children too; and it ends when we do. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execvpe(p->command[0], p->command, p->environment);
	_exit(127);
}

/* Kill the whole group when it runs longer than the limit; true if that was needed. */
static bool run_limit(pid_t pid, unsigned limit_s)
{
	_clean_(fd_closep) int fd = limit_s ? pidfd_open(pid, 0) : -1;
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	int n;

	if (fd < 0)
		return false;
	do {
		n = poll(&poll_fd, 1, (int)limit_s * 1000);
	} while (n < 0 && errno == EINTR);
	if (n != 0)
		return false;
	if (kill(-pid, SIGKILL) < 0)
		kill(pid, SIGKILL);
	return true;
}

static void say_failed(struct variant *variant, int status, unsigned stopped_after_s)
{
	char *text = variant->failed;
	size_t size = sizeof(variant->failed);

	if (stopped_after_s)
		snprintf(text, size, "stopped after %u s", stopped_after_s);
	else if (WIFSIGNALED(status))
		snprintf(text, size, "killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == 127)
		snprintf(text, size, "the command was not found or could not be started");
	else
		snprintf(text, size, "exit status %d", WEXITSTATUS(status));
}

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

/* Run the command once; its output lands in the memory file @out. -ECHILD: the variant failed. */
static int run_once(const struct pairs *p, struct variant *variant, int out, struct rusage *retusage,
		    struct fault *reterr)
{
	int status;
	bool stopped;
	pid_t pid = fork();

	if (pid < 0)
		return fault_errno(reterr, -errno, "cannot fork");
	if (pid == 0)
		run_child(p, variant->directory, out);
	stopped = run_limit(pid, p->limit_s);
	while (wait4(pid, &status, 0, retusage) < 0)
		if (errno != EINTR)
			return fault_errno(reterr, -errno, "cannot wait for %s", p->command[0]);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	say_failed(variant, status, stopped ? p->limit_s : 0);
	return fault_set(reterr, -ECHILD, "%s in %s: %s", p->command[0], variant->directory, variant->failed);
}

static bool same_bytes(int a, int b)
{
	struct stat sa, sb;
	void *pa, *pb;
	bool same;

	if (fstat(a, &sa) < 0 || fstat(b, &sb) < 0 || sa.st_size != sb.st_size)
		return false;
	if (sa.st_size == 0)
		return true;
	pa = mmap(NULL, (size_t)sa.st_size, PROT_READ, MAP_SHARED, a, 0);
	pb = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_SHARED, b, 0);
	same = pa != MAP_FAILED && pb != MAP_FAILED && memcmp(pa, pb, (size_t)sa.st_size) == 0;
	if (pa != MAP_FAILED)
		munmap(pa, (size_t)sa.st_size);
	if (pb != MAP_FAILED)
		munmap(pb, (size_t)sb.st_size);
	return same;
}

/* ---- rounds ---- */

static int variant_run(struct pairs *p, struct variant *variant, bool measured, struct fault *reterr)
{
	_clean_(fd_closep) int out = memfd_create("output", MFD_CLOEXEC);
	struct rusage usage;
	int r;

	if (out < 0)
		return fault_errno(reterr, -errno, "cannot make a memory file for the output");
	r = run_once(p, variant, out, &usage, reterr);
	if (r < 0)
		return r;
	if (p->first_output < 0)
		p->first_output = dup(out);
	else if (!same_bytes(p->first_output, out))
		variant->identical = false;
	if (!measured)
		return 0;
	variant->cpu_s[p->done] = seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
	variant->user_s += seconds(&usage.ru_utime);
	variant->system_s += seconds(&usage.ru_stime);
	variant->max_rss_kib = MAX(variant->max_rss_kib, usage.ru_maxrss);
	return 0;
}

static int round_run(struct pairs *p, struct stats_random *random, size_t *order, bool measured,
		     struct fault *reterr)
{
	/* The base's first output is what all are compared with: it opens the very first round. */
	bool first = p->first_output < 0;

	stats_shuffle(random, order, p->n_variants);
	for (size_t i = 0; i < p->n_variants; i++) {
		struct variant *variant = &p->variants[first ? i : order[i]];
		int r;

		if (variant->failed[0])
			continue;
		r = variant_run(p, variant, measured, reterr);
		if (r < 0 && (r != -ECHILD || variant == p->variants))
			return r;
	}
	return 0;
}

static int pairs_run(struct pairs *p, struct fault *reterr)
{
	_clean_(freep) size_t *order = calloc(p->n_variants, sizeof(*order));
	struct stats_random random = { p->seed | 1 };
	size_t total = p->n_warmups + p->n_rounds;
	struct progress progress;
	int r = 0;

	if (!order)
		return fault_errno(reterr, -ENOMEM, "rounds");
	progress_begin(&progress, STDERR_FILENO);
	for (size_t i = 0; i < total && r == 0; i++) {
		bool measured = i >= p->n_warmups;

		progress_step(&progress, "round", i, total);
		r = round_run(p, &random, order, measured, reterr);
		p->done += measured && r == 0;
	}
	progress_end(&progress);
	return r;
}

/* ---- the report ---- */

static void summary_print(struct json *json, const char *key, const struct stats_summary *s)
{
	json_object_begin(json, key);
	json_double(json, "median", s->median);
	json_double(json, "low", s->low);
	json_double(json, "high", s->high);
	json_double(json, "q1", s->q1);
	json_double(json, "q3", s->q3);
	json_object_end(json);
}

static int variant_figures(const struct pairs *p, const struct variant *variant, struct json *json,
			   struct fault *reterr)
{
	_clean_(freep) double *ratios = calloc(p->done, sizeof(*ratios));
	struct stats_summary time, ratio;
	int r;

	if (!ratios)
		return fault_errno(reterr, -ENOMEM, "ratios");
	for (size_t i = 0; i < p->done; i++)
		ratios[i] = variant->cpu_s[i] / p->variants[0].cpu_s[i];
	r = stats_summarize(variant->cpu_s, p->done, p->seed, &time, reterr);
	if (r == 0)
		r = stats_summarize(ratios, p->done, p->seed, &ratio, reterr);
	if (r < 0)
		return r;
	summary_print(json, "cpu_s", &time);
	json_double(json, "user_s", variant->user_s / (double)p->done);
	json_double(json, "system_s", variant->system_s / (double)p->done);
	json_u64(json, "max_rss_kib", (uint64_t)variant->max_rss_kib);
	summary_print(json, "ratio", &ratio);
	json_string(json, "verdict", stats_verdict(&ratio));
	json_array_begin(json, "ratios");
	for (size_t i = 0; i < p->done; i++)
		json_double(json, NULL, ratios[i]);
	json_array_end(json);
	return 0;
}

static int variant_print(const struct pairs *p, const struct variant *variant, struct json *json,
			 struct fault *reterr)
{
	int r = 0;

	json_object_begin(json, NULL);
	json_string(json, "directory", variant->directory);
	if (variant->failed[0]) {
		json_string(json, "failed", variant->failed);
	} else {
		json_bool(json, "outputs_identical", variant->identical);
		r = variant_figures(p, variant, json, reterr);
	}
	json_object_end(json);
	return r;
}

static int pairs_print(const struct pairs *p, FILE *out, struct fault *reterr)
{
	struct json json = json_to(out);
	int r = 0;

	json_object_begin(&json, NULL);
	json_array_begin(&json, "command");
	for (char **arg = p->command; *arg; arg++)
		json_string(&json, NULL, *arg);
	json_array_end(&json);
	json_u64(&json, "rounds", p->done);
	json_i64(&json, "cpu", p->cpu);
	json_u64(&json, "seed", p->seed);
	json_array_begin(&json, "variants");
	for (size_t i = 0; i < p->n_variants && r == 0; i++)
		r = variant_print(p, &p->variants[i], &json, reterr);
	json_array_end(&json);
	json_object_end(&json);
	return r;
}

static int pairs_write(const struct pairs *p, const char *path, struct fault *reterr)
{
	FILE *out = path ? fopen(path, "we") : stdout;
	int r;

	if (!out)
		return fault_errno(reterr, -errno, "%s: cannot write", path);
	r = pairs_print(p, out, reterr);
	if (path && fclose(out) != 0 && r == 0)
		r = fault_errno(reterr, -errno, "%s: cannot write", path);
	return r;
}

/* ---- the command line ---- */

static const char usage[] = "usage: bench-pairs [-n ROUNDS] [-w WARMUPS] [-c CPU] [-t SECONDS] [-s SEED] [-e "
			    "NAME=VALUE] [-o JSON]\n"
			    "                   BASE-DIRECTORY DIRECTORY... -- COMMAND [ARGUMENT...]\n";

static int parse_number(const char *text, long low, long high, long *ret)
{
	char *end;

	errno = 0;
	*ret = strtol(text, &end, 10);
	return errno || end == text || *end || *ret < low || *ret > high ? -EINVAL : 0;
}

static int parse_options(struct pairs *p, int argc, char **argv, const char **retpath)
{
	long n;
	int c;

	while ((c = getopt(argc, argv, "+n:w:c:t:s:e:o:")) != -1) {
		if (c == 'n' && parse_number(optarg, 1, 10000, &n) == 0)
			p->n_rounds = (size_t)n;
		else if (c == 'w' && parse_number(optarg, 0, 100, &n) == 0)
			p->n_warmups = (size_t)n;
		else if (c == 'c' && parse_number(optarg, -1, CPU_SETSIZE - 1, &n) == 0)
			p->cpu = (int)n;
		else if (c == 't' && parse_number(optarg, 0, 86400, &n) == 0)
			p->limit_s = (unsigned)n;
		else if (c == 's' && parse_number(optarg, 1, INT32_MAX, &n) == 0)
			p->seed = (uint64_t)n;
		else if (c == 'e' && strchr(optarg, '=') && p->n_environment + 1 < ARRAY_SIZE(p->environment))
			p->environment[p->n_environment++] = optarg;
		else if (c == 'o')
			*retpath = optarg;
		else
			return -EINVAL;
	}
	return 0;
}

/* Directories up to the first "--" (getopt stops at it or at the first directory), then the
 * command. */
static int parse_directories(struct pairs *p, char **argv)
{
	size_t n = 0;

	while (argv[n] && strcmp(argv[n], "--") != 0)
		n++;
	if (n < 2 || !argv[n] || !argv[n + 1])
		return -EINVAL;
	p->command = argv + n + 1;
	p->n_variants = n;
	p->variants = calloc(n, sizeof(*p->variants));
	if (!p->variants)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		p->variants[i] = (struct variant){ .directory = argv[i], .identical = true };
		p->variants[i].cpu_s = calloc(p->n_rounds, sizeof(double));
		if (!p->variants[i].cpu_s)
			return -ENOMEM;
	}
	return 0;
}

static void pairs_done(struct pairs *p)
{
	for (size_t i = 0; p->variants && i < p->n_variants; i++)
		free(p->variants[i].cpu_s);
	free(p->variants);
	if (p->first_output >= 0)
		close(p->first_output);
}

int main(int argc, char **argv)
{
	_clean_(pairs_done) struct pairs p = {
		.n_rounds = 15,
		.n_warmups = 1,
		.cpu = -1,
		.seed = 1997,
		.first_output = -1,
		.environment = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C", "TZ=UTC" },
		.n_environment = 4,
	};
	const char *path = NULL;
	struct fault fault;
	int r;

	if (parse_options(&p, argc, argv, &path) < 0 || parse_directories(&p, argv + optind) < 0) {
		fputs(usage, stderr);
		return 2;
	}
	r = pairs_run(&p, &fault);
	if (r == 0)
		r = pairs_write(&p, path, &fault);
	if (r < 0)
		fprintf(stderr, "bench-pairs: %s\n", fault.text);
	return r < 0;
}
