/* SPDX-License-Identifier: Apache-2.0 */

#include "bench/accuracy/speed.h"

#include <errno.h>

#include "base/clock.h"
#include "bench/accuracy/draw.h"

#define MIN_SPEED_S 0.2

/* The files that morphd would find. */
static int logs_make(const struct subject *p, struct buffer *ret, double *retrows)
{
	struct sample_log *parts[DRAW_LOGS] = { NULL };
	uint64_t random = 88172645463325252u;
	int r = draw_logs(p->log, DRAW_LOGS, &random, parts);

	*retrows = 0;
	for (unsigned i = 0; i < DRAW_LOGS; i++) {
		const struct sample_module *module;

		if (r == 0) {
			sample_log_normalize(parts[i]);
			r = sample_log_encode(parts[i], &ret[i]);
			module = sample_log_find(parts[i], image_build_id(p->image));
			*retrows += module ? (double)module->n_counts : 0;
		}
		sample_log_free(parts[i]);
	}
	return r;
}

static int counts_make(const struct subject *p, const struct buffer *logs, const struct estimator *estimator,
		       struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *sum = sample_log_new();
	_clean_(estimate_done) struct estimate estimate = { 0 };
	int r = sum ? 0 : fault_errno(reterr, -ENOMEM, "%s", p->name);

	for (unsigned i = 0; r == 0 && i < DRAW_LOGS; i++) {
		_clean_(sample_log_freep) struct sample_log *log = NULL;

		r = sample_log_decode(logs[i].data, logs[i].size, &log, reterr);
		if (r == 0 && sample_log_merge(sum, log) < 0)
			r = fault_errno(reterr, -ENOMEM, "%s", p->name);
	}
	if (r < 0)
		return r;
	return estimate_blocks(p->map, p->image, sample_log_find(sum, image_build_id(p->image)), estimator,
			       &estimate, reterr);
}

/* Once to warm up, then as often as it takes to be measured. */
static int speed_run(const struct subject *p, const struct estimator *estimator, struct speed *ret,
		     struct fault *reterr)
{
	struct buffer logs[DRAW_LOGS] = { 0 };
	double start = 0, n_runs = 0;
	int r;

	*ret = (struct speed){ .program = p, .estimator = estimator, .samples = (double)p->module->total };
	r = logs_make(p, logs, &ret->n_rows);
	r = r < 0 ? fault_errno(reterr, r, "%s", p->name) : counts_make(p, logs, estimator, reterr);
	for (start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	     r == 0 && clock_s(CLOCK_PROCESS_CPUTIME_ID) - start < MIN_SPEED_S; n_runs++)
		r = counts_make(p, logs, estimator, reterr);
	ret->seconds = (clock_s(CLOCK_PROCESS_CPUTIME_ID) - start) / n_runs;
	for (unsigned i = 0; i < DRAW_LOGS; i++)
		buffer_done(&logs[i]);
	return r;
}

int speed_measure(const struct subject *subjects, size_t n, struct speed *ret, struct fault *reterr)
{
	static const struct estimator *const estimators[] = { &estimator_length, &estimator_best };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(estimators); i++)
		for (size_t p = 0; r == 0 && p < n; p++)
			r = speed_run(&subjects[p], estimators[i], ret++, reterr);
	return r;
}
