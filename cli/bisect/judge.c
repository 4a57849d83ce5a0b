/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/bisect/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define MISS 0.01     /* probability that a bad file passes for a good one */
#define PATIENCE 10.0 /* times as long as the shipped file may a run take, and so many seconds more */
#define EVIDENCE 20.0 /* of each side: wrong in at most one of 20 files, however often it is looked at */

static void tell(const struct judge *j, unsigned done, unsigned total)
{
	if (j->on_run)
		j->on_run(j->userdata, done, total);
}

/* ---- by failures ---- */

/* Up to @n runs of @file; the first failure ends it, if @stops. @retfailed, @retran; -ECANCELED: it cannot tell */
static int runs(struct judge *j, const char *file, unsigned n, bool stops, unsigned *retfailed,
		unsigned *retran, double *retlongest_s, struct fault *reterr)
{
	*retfailed = *retran = 0;
	for (unsigned i = 0; i < n && !(stops && *retfailed); i++) {
		struct trial_run run;
		int r = trial_run(&j->trial, file, &run, reterr);

		if (r < 0)
			return r;
		tell(j, i + 1, n);
		if (run.skipped)
			return fault_set(reterr, -ECANCELED, "the command ended with %s: it cannot tell",
					 run.how);
		if (run.failed)
			memcpy(j->how, run.how, sizeof(j->how));
		*retfailed += run.failed;
		(*retran)++;
		*retlongest_s = MAX(*retlongest_s, run.wall_s);
	}
	return 0;
}

/* A rate that is not below the true one, but for bad luck: of what was seen, a third. */
static int needed_find(struct judge *j, struct fault *reterr)
{
	double rate = (double)j->failed / (double)j->ran / 3;

	j->needed = 1;
	if (j->failed == j->ran)
		return 0;
	j->needed = (unsigned)ceil(log(MISS) / log(1 - rate));
	if (j->needed <= JUDGE_RUNS_MAX)
		return 0;
	return fault_set(reterr, -EAGAIN,
			 "flaky: with the generation the command fails %u of %u times; too seldom to "
			 "tell good from bad by %u runs each",
			 j->failed, j->ran, JUDGE_RUNS_MAX);
}

static int begin_by_failures(struct judge *j, const char *generation, struct fault *reterr)
{
	double longest_s = 0, ignored = 0;
	int r = runs(j, j->shipped, j->n_runs, false, &j->shipped_failed, &j->shipped_ran, &longest_s,
		     reterr);

	if (r < 0)
		return r;
	if (j->shipped_failed == j->shipped_ran)
		return fault_set(reterr, -EAGAIN, "the command fails with the shipped file, too (%s)",
				 j->how);
	if (j->shipped_failed)
		return fault_set(reterr, -EAGAIN,
				 "flaky: the command fails %u of %u times with the shipped file (%s), "
				 "so it does not tell the two apart",
				 j->shipped_failed, j->shipped_ran, j->how);
	if (!j->trial.timeout_s)
		j->trial.timeout_s = (unsigned)ceil(PATIENCE * longest_s + PATIENCE);
	r = runs(j, generation, j->n_runs, false, &j->failed, &j->ran, &ignored, reterr);
	if (r == 0 && j->failed && j->failed < j->ran) { /* how often? */
		unsigned failed, ran;

		r = runs(j, generation, 4 * j->n_runs, false, &failed, &ran, &ignored, reterr);
		j->failed += failed;
		j->ran += ran;
	}
	if (r < 0)
		return r;
	return j->failed ? needed_find(j, reterr) : 1;
}

/* ---- by time ---- */

static int one_round(struct judge *j, const char *const files[2], struct stats_random *random, double ret[2],
		     struct fault *reterr)
{
	size_t order[2];

	stats_shuffle(random, order, 2);
	for (size_t i = 0; i < 2; i++) {
		struct trial_run run;
		int r = trial_run(&j->trial, files[order[i]], &run, reterr);

		if (r < 0)
			return r;
		if (run.failed || run.skipped)
			return fault_set(reterr, -EAGAIN,
					 "the command fails with the %s file (%s); without --slower "
					 "that is looked into",
					 order[i] ? "other" : "shipped", run.how);
		ret[order[i]] = MAX(run.cpu_s, 1e-6);
	}
	return 0;
}

/* Rounds until @file's ratio is known to be on one side of @threshold, or there were too many. */
static int compare(struct judge *j, const char *file, double threshold, struct paired_summary *ret,
		   struct fault *reterr)
{
	_clean_(freep) double *ratios = calloc(j->n_rounds, sizeof(*ratios));
	struct stats_random random = { j->seed++ | 1 };
	double times[2];
	unsigned n = 0;
	int r = ratios ? one_round(j, (const char *[]){ j->shipped, file }, &random, times, reterr) :
			 fault_errno(reterr, -ENOMEM, "rounds"); /* it warms up */

	while (r == 0 && n < j->n_rounds && paired_more(ratios, n, threshold) < EVIDENCE &&
	       paired_less(ratios, n, threshold) < EVIDENCE) {
		r = one_round(j, (const char *[]){ j->shipped, file }, &random, times, reterr);
		ratios[n] = times[1] / times[0];
		n += r == 0;
		tell(j, n, j->n_rounds);
	}
	j->ran = n;
	if (r == 0 && !paired_summarize(ratios, n, 2 / EVIDENCE, ret))
		r = fault_errno(reterr, -ENOMEM, "rounds");
	return r;
}

static int begin_by_time(struct judge *j, const char *generation, struct fault *reterr)
{
	struct paired_summary same;
	int r = 0;

	/* Twice: one series in twenty says so of a file that is not slower. The second's median is the one without that luck. */
	for (unsigned i = 0; i < 2; i++) {
		r = compare(j, generation, 1, &j->slower, reterr);
		if (r < 0)
			return r;
		if (j->slower.low <= 1)
			return 1;
	}
	j->threshold = 1 + (j->slower.median - 1) / 2;
	/* The shipped file against itself: what this machine takes for slower. */
	r = compare(j, j->shipped, j->threshold, &same, reterr);
	if (r == 0 && same.high >= j->threshold)
		return fault_set(
			reterr, -EAGAIN,
			"too noisy: the shipped file takes %.3f (%.3f .. %.3f) times its own time, and the "
			"generation %.3f (%.3f .. %.3f); try more --rounds, or a quieter machine",
			same.median, same.low, same.high, j->slower.median, j->slower.low, j->slower.high);
	return r;
}

/* ---- both ---- */

int judge_begin(struct judge *j, const char *generation, struct fault *reterr)
{
	int r = j->by_time ? begin_by_time(j, generation, reterr) : begin_by_failures(j, generation, reterr);

	return r == -ECANCELED ? -EAGAIN : r;
}

int judge_file(struct judge *j, const char *file, struct fault *reterr)
{
	struct paired_summary ratio;
	unsigned failed, ran;
	double longest_s = 0;
	char how[sizeof(j->how)];
	int r;

	memcpy(how, j->how, sizeof(how));
	if (j->by_time) {
		r = compare(j, file, j->threshold, &ratio, reterr);
		return r < 0 ? r : ratio.median > j->threshold;
	}
	r = runs(j, file, j->needed, true, &failed, &ran, &longest_s, reterr);
	memcpy(j->how, how, sizeof(how));
	if (r == -ECANCELED)
		return 2;
	return r < 0 ? r : failed > 0;
}
