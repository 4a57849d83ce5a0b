/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * history.h - the epochs of a profile: has the use of the module changed?
 *
 * An epoch is a stretch of time with the shares that the busiest functions had in its samples. A
 * profile keeps at most PROFILE_MAX_EPOCHS; when there is one more, the two neighbours with the
 * fewest (aged) samples become one, so that recent stretches are finer than old ones and none is
 * too small to say anything.
 */

#include "profiles/store/profile.h"

void history_done(struct profile_epoch *epochs, size_t n_epochs);

/**
 * history_epoch() - the whole of @profile, from its functions' samples, as one epoch; 0 or -ENOMEM
 */
int history_epoch(const struct profile *profile, struct profile_epoch *ret);

/**
 * history_merge() - @ret's epochs = those of @old aged by @weight and those of @new, in order of
 * time
 * @ret: has no epochs yet; its functions are not looked at. 0 or -ENOMEM.
 * A profile without epochs is one, unless its time (last_ns) is not set yet.
 */
int history_merge(const struct profile *old, double weight, const struct profile *new, struct profile *ret);

/**
 * history_overlap() - sum of the smaller shares, 0 (nothing in common) to 1 (the same use)
 * Functions that neither epoch remembers count as one function.
 */
double history_overlap(const struct profile_epoch *a, const struct profile_epoch *b);

/**
 * history_overlap_expected() - what history_overlap() would be on average if only chance told them
 * apart
 *
 * For a function of share p in samples of n and m, the difference of the two observed shares is
 * about normal with variance p (1/n + 1/m), its mean size sqrt(2 / pi) times the deviation; the
 * overlap is 1 less half of their sum. So a change of usage is an overlap clearly below this one.
 */
double history_overlap_expected(const struct profile_epoch *a, const struct profile_epoch *b);
