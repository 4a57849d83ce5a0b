/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * trial.h - every subject by every estimator from so many samples, scored against the truth
 */

#include "bench/accuracy/speed.h"
#include "bench/accuracy/subject.h"

#define TRIAL_MAX_PROGRAMS 64
#define TRIAL_MAX_SAMPLE_COUNTS 8
#define TRIAL_ESTIMATORS 16

struct row {
	const struct subject *program;
	const struct estimator *estimator;
	double samples;
	struct score score;
	double seconds;
};

struct trial {
	struct subject programs[TRIAL_MAX_PROGRAMS];
	size_t n_programs;
	double samples[TRIAL_MAX_SAMPLE_COUNTS];
	size_t n_samples;
	const struct estimator *estimators[TRIAL_ESTIMATORS];
	size_t n_estimators;
	const char *json, *fit;
	size_t n_worst;
	struct row *rows;
	size_t n_rows;
	struct speed speeds[2 * TRIAL_MAX_PROGRAMS];
	size_t n_speeds;
	struct calibration calibration; /* default estimator, most samples, all programs */
};

/** trial_weights() - the cost model, learned from all programs but @left_out (NULL: from all) */
int trial_weights(const struct trial *trial, const struct subject *left_out, float *ret,
		  struct fault *reterr);

/** trial_run() - fills rows[], which the caller frees, and the calibration */
int trial_run(struct trial *trial, struct fault *reterr);
