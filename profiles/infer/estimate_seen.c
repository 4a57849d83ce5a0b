/* SPDX-License-Identifier: Apache-2.0 */

/* What many machines saw, as one module's samples: estimated once, then added to what generations' counts said. */

#include <errno.h>
#include <math.h>
#include <string.h>

#include "profiles/infer/estimate.h"
#include "profiles/store/seen.h"

/* Executions of all blocks for each sample; 0: nothing ran. */
static double executions_of_a_sample(const struct profile *profile)
{
	double executions = 0, samples = 0;

	for (size_t i = 0; i < profile->n_functions; i++) {
		const struct profile_function *f = &profile->functions[i];

		samples += f->samples;
		for (uint32_t j = 0; j < f->n_counts; j++)
			executions += (double)f->counts[j].executions;
	}
	return samples > 0 ? executions / samples : 0;
}

static void scale(struct profile *profile, double factor)
{
	for (size_t i = 0; i < profile->n_functions; i++)
		for (uint32_t j = 0; j < profile->functions[i].n_counts; j++) {
			struct profile_count *count = &profile->functions[i].counts[j];

			count->executions = (uint64_t)fmin((double)count->executions * factor + 0.5, 0x1p62);
		}
}

/* Both count in units of their own. */
static int counts_add(struct profile *made, const struct profile *counted, struct fault *reterr)
{
	double here = executions_of_a_sample(made), there = executions_of_a_sample(counted);

	if (here > 0 && there > 0)
		scale(made, there / here);
	return profile_merge(made, 1, counted, reterr);
}

static int seen_estimate(const struct block_map *map, const struct image *image,
			 const struct profile *profile, struct profile *made, struct fault *reterr)
{
	_clean_(estimate_done) struct estimate estimate = { 0 };
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	const struct sample_module *module;
	int r = seen_log(profile, &log);

	if (r < 0)
		return fault_errno(reterr, r, "samples of many");
	module = sample_log_find(log, &profile->build_id);
	if (!module)
		return fault_set(reterr, -ENODATA, "jumps were seen, and no samples");
	r = estimate_blocks(map, image, module, &estimator_best, &estimate, reterr);
	return r < 0 ? r : estimate_profile(map, &estimate, made, reterr);
}

int estimate_seen(const struct block_map *map, const struct image *image, struct profile *profile,
		  struct fault *reterr)
{
	_clean_(profile_freep) struct profile *made = profile_new();
	struct profile counted = *profile;
	struct profile old;
	int r;

	if (!profile->n_seen)
		return 0;
	if (!build_id_is_equal(&profile->build_id, image_build_id(image)))
		return fault_set(reterr, -EXDEV,
				 "it has samples of a build that %s is not; only the file that they are of "
				 "allows to estimate from them",
				 image_path(image));
	if (!made || !(made->estimator = strdup(estimator_name(&estimator_best))))
		return fault_errno(reterr, -ENOMEM, "samples of many");
	made->build_id = profile->build_id;
	r = seen_estimate(map, image, profile, made, reterr);
	counted.seen = NULL;
	counted.n_seen = 0;
	if (r == 0)
		r = counts_add(made, &counted, reterr);
	if (r < 0)
		return r;
	old = *profile;
	*profile = *made;
	*made = old;
	return 0;
}
