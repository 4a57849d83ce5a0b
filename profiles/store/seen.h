/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * seen.h - samples of the shipped file within a profile, which no count was estimated from yet
 *
 * Samples of many machines add up exactly, as if one machine had taken them all; estimates of each do not. So a batch for the
 * fleet holds what was seen, the fleet adds it up, and whoever has the program estimates from the sum (infer/estimate.h).
 */

#include "profiles/samples/sample_log.h"
#include "profiles/store/profile.h"

/**
 * seen_add() - add what @module saw; of jumps only such as were seen to go both ways
 * Return: 0; -E2BIG: more than PROFILE_MAX_SEEN places; -ENOMEM. @profile is unchanged unless 0 is returned.
 */
int seen_add(struct profile *profile, const struct sample_module *module);

/** seen_place() - append one, in any order; seen_sort() when done. 0; -E2BIG; -ENOMEM. Cost: O(1), amortized */
int seen_place(struct profile *profile, uint64_t from, uint64_t to, uint64_t count);
/** seen_sort() - sort, unite (saturating), leave out what has no count */
void seen_sort(struct profile *profile);

/** seen_log() - the same as a sample log of that one build; 0 or -ENOMEM */
int seen_log(const struct profile *profile, struct sample_log **ret);

/** seen_none() - 0; -EINVAL: @profile, of the file @path, has samples that its reader would pass over, with what to do about it */
int seen_none(const struct profile *profile, const char *path, struct fault *reterr);

/** seen_samples() - how many */
double seen_samples(const struct profile *profile);

/** seen_merge() - into @ret, which has none: of @into times @weight (0..1), and @from. 0 or -ENOMEM, -E2BIG */
int seen_merge(const struct profile *into, double weight, const struct profile *from, struct profile *ret);

/** seen_makes_sense() - of foreign bytes: sorted, unique, none counted too often */
bool seen_makes_sense(const struct profile *profile);
