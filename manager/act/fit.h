/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fit.h - of what others counted, what fits to a module, by a job: the bytes are of others, and morphd does not read them
 *
 *	1. a profile waits (priors.h)
 *	2. `morph profile prior` takes of it the functions that the shipped file has with the same graph
 *	3. what it wrote becomes the module's prior of that source
 *
 * One job at a time, beside edits; the next one begins when it has ended.
 */

#include "manager/keep/context.h"

struct fit;

/** fit_tick() - look for packages' priors that were not looked at; start the next job, if none is under way */
int fit_tick(struct manager *manager, struct fault *reterr);

/** fit_clean() - what one of a morphd that was killed has left */
int fit_clean(struct manager *manager, struct fault *reterr);

/** fit_stop() - end the one under way. Accepts NULL */
void fit_stop(struct fit *fit);
