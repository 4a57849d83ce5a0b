/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * carry.h - the profile of an earlier build for a new one
 *
 * A function of the new build that has the name (GUID) and the CFG hash of one in the profile
 * keeps its counts, samples and confidence: its IR blocks are the same ones. Everything else
 * starts fresh. The result is keyed by the new build ID; its `carried` is 1 and fades as samples
 * of the new build are merged in; its `dropped` says how many samples the functions that are left
 * behind had, so that nobody takes a changed hot function for a cold one.
 */

#include "module/block_map.h"
#include "profiles/store/profile.h"

struct carry_report {
	size_t n_carried; /* functions */
	size_t n_changed; /* there, with another graph */
	size_t n_gone;	  /* not in the new build */
	size_t n_unknown; /* the profile does not say which graph they had */
	double samples_carried, samples_dropped;
};

/**
 * carry_profile() - @old for the build that @map describes
 * @build_id: of the new shipped file
 * @ret: new, owned by the caller
 * Return: 0; -EEXIST: @old is of that build already; -ENOMEM. Cost: O(n log m).
 */
int carry_profile(const struct profile *old, const struct block_map *map, const struct build_id *build_id,
		  struct profile **ret, struct carry_report *retreport, struct fault *reterr);
