/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a machine says that lies: of functions that are there, but what runs least is all that runs, and without measure; or, of
 * what was seen, that all samples fell where fewest do, and that branches go where they seldom go.
 */

#include "bench/fleet/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiles/store/profile.h"
#include "profiles/store/seen.h"

#define LIED_SAMPLES 1e9
#define LIED_EXECUTIONS (1ull << 60)
#define LIED_JUMPS (1ull << 30) /* each */

/* What is known to run least, if at all. */
static struct profile_count *least_of(struct profile *profile, struct profile_function **retfunction)
{
	struct profile_count *ret = NULL;

	for (size_t i = 0; i < profile->n_functions; i++)
		for (uint32_t j = 0; j < profile->functions[i].n_counts; j++) {
			struct profile_count *count = &profile->functions[i].counts[j];

			if (!count->confidence || (ret && count->executions >= ret->executions))
				continue;
			ret = count;
			*retfunction = &profile->functions[i];
		}
	return ret;
}

/* Of the jumps from there the one that was seen least; of equal ones the first. */
static bool is_rarest_jump(const struct profile *profile, size_t i)
{
	const struct profile_seen *seen = &profile->seen[i];

	for (size_t j = 0; j < profile->n_seen; j++)
		if (profile->seen[j].from == seen->from && profile->seen[j].to != PROFILE_SEEN_SAMPLE &&
		    (profile->seen[j].count < seen->count ||
		     (profile->seen[j].count == seen->count && j < i)))
			return false;
	return true;
}

static int lie_of_seen(struct profile *profile)
{
	struct profile_seen *rarest = NULL;
	struct profile truth = *profile;

	/* What is changed must not decide what is the rarest. */
	truth.seen = calloc(profile->n_seen, sizeof(*truth.seen));
	if (!truth.seen)
		return -ENOMEM;
	memcpy(truth.seen, profile->seen, profile->n_seen * sizeof(*truth.seen));
	for (size_t i = 0; i < profile->n_seen; i++) {
		struct profile_seen *seen = &profile->seen[i];

		if (seen->to == PROFILE_SEEN_SAMPLE && (!rarest || seen->count < rarest->count))
			rarest = seen;
	}
	for (size_t i = 0; i < profile->n_seen; i++)
		if (profile->seen[i].to != PROFILE_SEEN_SAMPLE)
			profile->seen[i].count = is_rarest_jump(&truth, i) ? LIED_JUMPS : 0;
	free(truth.seen);
	for (size_t i = 0; i < profile->n_seen; i++)
		if (profile->seen[i].to == PROFILE_SEEN_SAMPLE && &profile->seen[i] != rarest)
			profile->seen[i].count = 0;
	if (rarest)
		rarest->count = (uint64_t)LIED_SAMPLES;
	seen_sort(profile);
	return 0;
}

int fleet_lie(int argc, char **argv, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *profile = NULL;
	struct profile_function *function = NULL;
	struct profile_count *least;
	int r = argc == 4 ? profile_read(argv[2], &profile, reterr) :
			    fault_set(reterr, -EINVAL, "lie PROFILE OUT");

	if (r < 0)
		return r;
	if (profile->n_seen) {
		if (lie_of_seen(profile) < 0)
			return fault_errno(reterr, -ENOMEM, "%s", argv[2]);
		return profile_write(profile, argv[3], reterr);
	}
	least = least_of(profile, &function);
	if (!least)
		return fault_set(reterr, -ENODATA, "%s: has no counts", argv[2]);
	for (size_t i = 0; i < profile->n_functions; i++) {
		profile->functions[i].samples = 0;
		for (uint32_t j = 0; j < profile->functions[i].n_counts; j++)
			profile->functions[i].counts[j].executions = 0;
	}
	*least = (struct profile_count){ .executions = LIED_EXECUTIONS, .confidence = 255 };
	function->samples = LIED_SAMPLES;
	profile->samples = LIED_SAMPLES;
	return profile_write(profile, argv[3], reterr);
}
