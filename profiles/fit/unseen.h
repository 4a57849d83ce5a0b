/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * unseen.h - how much runs in functions in which no sample fell
 *
 * One that has none is believed to run as often as it is called. Each alone may have been missed; all of them together
 * were not: by Good and Turing, what was not seen at all is about as much as what was seen once (I. J. Good, The
 * population frequencies of species and the estimation of population parameters, Biometrika 40, 1953, section 2).
 */

#include "profiles/fit/fit.h"

/**
 * unseen_scale() - lower the counts of all functions without samples alike, to what Good and Turing say of them together
 * @costs: as for fit_run(); @fit: what it returned
 * Cost: O(instructions)
 */
void unseen_scale(const struct code *code, const float *costs, struct fit_result *fit);
