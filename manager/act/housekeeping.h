/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * housekeeping.h - what is deleted in time, so that state and store stay small
 *
 * - modules that are only counted: the least recent beyond HOUSEKEEPING_COUNTED become one sum
 * - generations that stand nowhere, beyond the newest keep_generations, once their samples are no more
 *   than HOUSEKEEPING_SHARE of the module's (aged), so that no edit ever throws a profile away
 * - modules that are installed nowhere and were not seen for HOUSEKEEPING_GONE_S
 * - what is more than its owner may have: quota.h
 */

#include "manager/keep/context.h"

#define HOUSEKEEPING_COUNTED 4096
#define HOUSEKEEPING_SHARE 0.05
#define HOUSEKEEPING_GENERATIONS 32 /* inactive ones, whatever their samples */
#define HOUSEKEEPING_GONE_S (30ll * 86400)

/** housekeeping() - @busy: a module that is being edited, left alone; 0: none. Cost: O(sample rows) */
int housekeeping(struct manager *manager, int64_t busy, struct fault *reterr);
