/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-pairs: one command in several directories that hold variants of the same program
 *
 *	1. Each round runs the command once in every directory, in an order drawn anew, on one CPU.
 *	2. A run's figure is its user plus system CPU time, children included (cli/shared/rounds.h).
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
#include <getopt.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/macro.h"
#include "base/progress.h"
#include "base/stats.h"
#include "cli/shared/rounds.h"

struct pairs {
	struct rounds rounds;	       /* its members are the directories */
	struct rounds_member *members; /* owned */
	size_t n_rounds, n_warmups;
	uint64_t seed;
	char *environment[32];
	size_t n_environment;
};

static int pairs_run(struct pairs *p, struct fault *reterr)
{
	size_t total = p->n_warmups + p->n_rounds;
	struct progress progress;
	int r;

	p->rounds.seed = p->seed;
	r = rounds_begin(&p->rounds, p->n_rounds, reterr);
	progress_begin(&progress, STDERR_FILENO);
	for (size_t i = 0; i < total && r == 0; i++) {
		progress_step(&progress, "round", i, total);
		r = rounds_run(&p->rounds, i >= p->n_warmups, reterr);
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

static int variant_figures(const struct pairs *p, const struct rounds_member *variant, struct json *json,
			   struct fault *reterr)
{
	size_t n = p->rounds.n_done;
	_clean_(freep) double *ratios = calloc(n, sizeof(*ratios));
	struct stats_summary time, ratio;
	int r;

	if (!ratios)
		return fault_errno(reterr, -ENOMEM, "ratios");
	if (rounds_ratios(&p->rounds, variant, p->members, ratios) != n)
		return fault_set(reterr, -ERANGE, "%s: used no CPU time that can be measured",
				 variant->directory);
	r = stats_summarize(variant->cpu_s, n, p->seed, &time, reterr);
	if (r == 0)
		r = stats_summarize(ratios, n, p->seed, &ratio, reterr);
	if (r < 0)
		return r;
	summary_print(json, "cpu_s", &time);
	json_double(json, "user_s", variant->user_s / (double)n);
	json_double(json, "system_s", variant->system_s / (double)n);
	json_u64(json, "max_rss_kib", variant->max_rss_kib);
	summary_print(json, "ratio", &ratio);
	json_string(json, "verdict", stats_verdict(&ratio));
	json_array_begin(json, "ratios");
	for (size_t i = 0; i < n; i++)
		json_double(json, NULL, ratios[i]);
	json_array_end(json);
	return 0;
}

static int variant_print(const struct pairs *p, const struct rounds_member *variant, struct json *json,
			 struct fault *reterr)
{
	int r = 0;

	json_object_begin(json, NULL);
	json_string(json, "directory", variant->directory);
	if (variant->out[0]) {
		json_string(json, "failed", variant->out);
	} else {
		json_bool(json, "outputs_identical", !variant->differs);
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
	for (char *const *arg = p->rounds.run.command; *arg; arg++)
		json_string(&json, NULL, *arg);
	json_array_end(&json);
	json_u64(&json, "rounds", p->rounds.n_done);
	json_i64(&json, "cpu", p->rounds.run.cpu);
	json_u64(&json, "seed", p->seed);
	json_array_begin(&json, "variants");
	for (size_t i = 0; i < p->rounds.n && r == 0; i++)
		r = variant_print(p, &p->members[i], &json, reterr);
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
			p->rounds.run.cpu = (int)n;
		else if (c == 't' && parse_number(optarg, 0, 86400, &n) == 0)
			p->rounds.run.timeout_s = (unsigned)n;
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
	p->rounds.run.command = argv + n + 1;
	p->members = calloc(n, sizeof(*p->members));
	if (!p->members)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		p->members[i] = (struct rounds_member){ .name = argv[i], .directory = argv[i] };
	p->rounds.members = p->members;
	p->rounds.n = n;
	return 0;
}

static void pairs_done(struct pairs *p)
{
	rounds_done(&p->rounds);
	free(p->members);
}

int main(int argc, char **argv)
{
	_clean_(pairs_done) struct pairs p = {
		.rounds = { .run = { .cpu = -1, .input = -1 },
			    .needs_success = true,
			    .keeps_different = true,
			    .is_quiet = { false, true } },
		.n_rounds = 15,
		.n_warmups = 1,
		.seed = 1997,
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
	p.rounds.run.environment = p.environment;
	r = pairs_run(&p, &fault);
	if (r == 0)
		r = pairs_write(&p, path, &fault);
	if (r < 0)
		fprintf(stderr, "bench-pairs: %s\n", fault.text);
	return r < 0;
}
