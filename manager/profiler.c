/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-profiler PROFILE SIDECARS SHIPPED [BINARY SAMPLES]...
 *
 * The default profile_command of morphd, run as its unprivileged worker: samples of each generation
 * become counts of the shipped IR's blocks, and the sum of them is written to PROFILE. The last line
 * on standard output says whether they are enough: "verdict: LEVEL MISSING SENTENCE" (verdict.h).
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "module/morph_data.h"
#include "profiles/estimate.h"
#include "profiles/profile.h"
#include "profiles/sample_log.h"
#include "profiles/verdict.h"

static void spans_note(struct profile *profile, const struct sample_log *log)
{
	uint64_t end = log->start_ns + log->duration_ns;

	if (!profile->first_ns || log->start_ns < profile->first_ns)
		profile->first_ns = log->start_ns;
	profile->last_ns = MAX(profile->last_ns, end);
	/* Samples divided by their rate is the time in which the module was on a CPU. */
	if (log->rate_hz > 0)
		profile->activity_ns += (uint64_t)(1e9 * (double)log->modules[0].total / log->rate_hz);
}

static int generation_profile(const char *binary, const char *sidecars, const char *samples,
			      const struct build_id *shipped, struct profile *ret,
			      struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct estimate estimate = { 0 };
	const struct sample_module *module;
	int r = image_open(binary, &image, reterr);

	if (r == 0)
		r = morph_data_load(image, sidecars, &data, reterr);
	if (r == 0)
		r = sample_log_read(samples, &log, reterr);
	if (r < 0)
		return r;
	module = sample_log_find(log, image_build_id(image));
	if (!module)
		return fault_set(reterr, -EXDEV, "%s: holds no samples of %s", samples, binary);
	r = estimate_blocks(data->map, image, module, ESTIMATOR_BEST, &estimate, reterr);
	if (r < 0)
		return r;
	ret->build_id = *shipped;
	ret->path = strdup(module->path);
	ret->estimator = strdup(estimator_name(ESTIMATOR_BEST));
	spans_note(ret, log);
	r = ret->path && ret->estimator ? estimate_profile(data->map, &estimate, ret, reterr)
					: fault_errno(reterr, -ENOMEM, "%s", binary);
	estimate_done(&estimate);
	return r;
}

static int run(char **argv, int n_inputs, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *sum = profile_new();
	_clean_(image_freep) struct image *shipped = NULL;
	struct verdict verdict;
	int r = sum ? image_open(argv[3], &shipped, reterr) : fault_errno(reterr, -ENOMEM, "profile");

	for (int i = 0; r == 0 && i < n_inputs; i++) {
		_clean_(profile_freep) struct profile *one = profile_new();

		r = one ? generation_profile(argv[4 + 2 * i], argv[2], argv[5 + 2 * i],
					     image_build_id(shipped), one, reterr)
			: fault_errno(reterr, -ENOMEM, "profile");
		if (r == 0)
			r = profile_merge(sum, 1, one, reterr);
	}
	if (r == 0)
		r = profile_write(sum, argv[1], reterr);
	if (r < 0)
		return r;
	verdict_of(sum, &verdict);
	printf("verdict: %s %.0f %s\n", verdict_name(verdict.level), verdict.missing, verdict.sentence);
	return 0;
}

int main(int argc, char **argv)
{
	struct fault fault = { "" };

	log_init("morph-profiler", LOG_LEVEL_INFO);
	if (argc < 6 || argc % 2 != 0) {
		fprintf(stderr, "usage: morph-profiler PROFILE SIDECARS SHIPPED [BINARY SAMPLES]...\n");
		return 2;
	}
	if (run(argv, (argc - 4) / 2, &fault) == 0)
		return fflush(stdout) == 0 ? 0 : 1;
	log_error("%s", fault.text);
	return 1;
}
