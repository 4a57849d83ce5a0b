/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * measure.h - what generations gained, as far as that can be seen; what is slower goes back (count/cost.h)
 *
 * Also how far predictions have been right on this machine: by what they are multiplied to come as near as possible to what
 * was measured. One that was measured well weighs much; without any it is 1, and it takes about two good ones to move half
 * the way.
 */

#include "manager/keep/context.h"

/** measure_tick() - active generations: note their gain; put back the shipped file of those that are slower */
int measure_tick(struct manager *manager, struct fault *reterr);

/** measure_calibration() - what a predicted gain is multiplied by here: 0 to 2 */
int measure_calibration(struct state *state, double *ret, struct fault *reterr);
