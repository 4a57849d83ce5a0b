/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * estimate_code.h - estimation with chosen weights; for estimate.c and for the benchmark that learns the weights
 */

#include "profiles/fit/code.h"
#include "profiles/infer/estimator.h"

/** estimate_code() - steps 2 and 3 of estimate.h; @weights: COST_N_FEATURES. 0 or -ENOMEM */
int estimate_code(const struct code *code, const struct estimator *estimator, const float *weights,
		  struct estimate *ret);
