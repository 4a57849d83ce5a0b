/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/measure.h"

#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "manager/act/watch.h"
#include "manager/count/cost.h"
#include "manager/keep/journal.h"

#define PRIOR \
	0.0025 /* (5 points)^2 of gain measured as exactly as that: what "1" weighs in the calibration */
#define FACTOR_MAX 2.0

static int gain_note(struct manager *m, const struct generation_row *made, const struct cost_gain *gain,
		     struct fault *reterr)
{
	return state_do(
		m->state, reterr,
		"UPDATE generation SET measured = ?, measured_low = ?, measured_high = ?, measured_starts "
		"= ?, measured_users = ? WHERE id = ?",
		"dddiii", gain->gain, gain->low, gain->high, gain->starts, gain->n_users, made->id);
}

static int judge(struct manager *m, const struct target_row *target, struct fault *reterr)
{
	struct generation_row made = { 0 }, shipped = { 0 };
	struct cost_gain gain = { 0 };
	int64_t n_runners = 0;
	char reason[160];
	unsigned n;
	int r = generation_get(m->state, target->module, target->generation, &made, reterr);

	if (r == 0)
		r = generation_get(m->state, target->module, 0, &shipped, reterr);
	if (r == 0)
		r = cost_measure(m->state, shipped.id, made.id, target->activated_ns, &gain, &n_runners,
				 reterr);
	if (r == 0 && gain.n_users)
		r = gain_note(m, &made, &gain, reterr);
	if (r == 0 && cost_is_slower(&gain, n_runners)) {
		snprintf(reason, sizeof(reason),
			 "it was measured to be slower: a start costs %.1f %% more (%.1f .. %.1f)",
			 -100 * gain.gain, -100 * gain.high, -100 * gain.low);
		log_warning("%s: generation %lld: %s", target->path, (long long)target->generation, reason);
		r = watch_condemn(m, &made, reason, &n, reterr);
	}
	generation_row_done(&made);
	generation_row_done(&shipped);
	return r;
}

int measure_tick(struct manager *m, struct fault *reterr)
{
	return watch_each(m, judge, reterr);
}

int measure_calibration(struct state *state, double *ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	double both = PRIOR, predicted = PRIOR;
	int r = state_prepare(
		state, &statement, reterr,
		"SELECT gain, measured, measured_high - measured_low FROM generation WHERE gain IS "
		"NOT NULL AND measured IS NOT NULL",
		"");

	/* Least squares through the origin; half the width of an interval is about two standard errors. */
	while (r == 0 && (r = state_step(state, statement, reterr)) == 1) {
		double gain = sqlite3_column_double(statement, 0), seen = sqlite3_column_double(statement, 1);
		double error = fmax(sqlite3_column_double(statement, 2) / 4, 0.005);
		double weight = 0.0001 / (error * error); /* 1: known to a point */

		both += weight * gain * seen;
		predicted += weight * gain * gain;
		r = 0;
	}
	*ret = r < 0 ? 1 : fmin(fmax(both / predicted, 0), FACTOR_MAX);
	return r;
}
