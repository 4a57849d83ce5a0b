/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph profile merge: profiles of one build, added. With a half-life the older ones are aged by
 * the activity that the newer ones saw.
 */

#include "cli/profile/profile.h"

#include <errno.h>
#include <getopt.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/verb.h"
#include "profiles/store/seen.h"

struct inputs {
	struct profile **profiles; /* owned */
	char **paths;
	size_t n;
};

static void inputs_done(struct inputs *inputs)
{
	for (size_t i = 0; inputs->profiles && i < inputs->n; i++)
		profile_free(inputs->profiles[i]);
	free(inputs->profiles);
}

static int compare_times(const void *a, const void *b)
{
	const struct profile *x = *(struct profile *const *)a, *y = *(struct profile *const *)b;

	return (x->last_ns > y->last_ns) - (x->last_ns < y->last_ns);
}

/* Oldest first. */
static int inputs_read(struct inputs *inputs, struct fault *reterr)
{
	inputs->profiles = calloc(inputs->n, sizeof(*inputs->profiles));
	if (!inputs->profiles)
		return fault_errno(reterr, -ENOMEM, "profiles");
	for (size_t i = 0; i < inputs->n; i++) {
		int r = profile_read(inputs->paths[i], &inputs->profiles[i], reterr);

		if (r < 0)
			return r;
	}
	qsort(inputs->profiles, inputs->n, sizeof(*inputs->profiles), compare_times);
	return 0;
}

static int merge(const struct inputs *inputs, uint64_t half_life_ns, struct profile **ret,
		 struct fault *reterr)
{
	_clean_(profile_freep) struct profile *sum = profile_new();

	if (!sum)
		return fault_errno(reterr, -ENOMEM, "profile");
	for (size_t i = 0; i < inputs->n; i++) {
		const struct profile *next = inputs->profiles[i];
		int r = profile_merge(sum, profile_weight(next->activity_ns, half_life_ns), next, reterr);

		if (r < 0)
			return fault_prefix(reterr, r, "%s", next->path ? next->path : inputs->paths[i]);
	}
	*ret = TAKE(sum);
	return 0;
}

static void result_print(const struct profile *profile, size_t n, const char *output, bool as_json)
{
	struct json json = json_to(stdout);
	struct verdict verdict;

	verdict_of(profile, &verdict);
	if (!as_json) {
		printf("%s: %zu profiles, %.0f samples, %zu functions", SHOWN(output), n, profile->samples,
		       profile->n_functions);
		if (profile->n_seen)
			printf(", %.0f samples kept as they were seen", seen_samples(profile));
		printf("\n%s\n", verdict.sentence);
		return;
	}
	json_object_begin(&json, NULL);
	json_string(&json, "profile", output);
	json_u64(&json, "merged", n);
	json_double(&json, "samples", profile->samples);
	if (profile->n_seen)
		json_double(&json, "seen_samples", seen_samples(profile));
	json_u64(&json, "functions", profile->n_functions);
	json_string(&json, "verdict", verdict_name(verdict.level));
	json_object_end(&json);
}

int profile_merge_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "half-life", required_argument, NULL, 'H' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	_clean_(inputs_done) struct inputs inputs = { 0 };
	_clean_(profile_freep) struct profile *sum = NULL;
	const char *output = NULL;
	uint64_t half_life_ns = 0; /* a plain sum */
	bool as_json = false;
	struct fault fault;
	int c, r;

	while ((c = getopt_long(argc, argv, "o:h", options, NULL)) != -1)
		if (c == 'o')
			output = optarg;
		else if (c == 'j')
			as_json = true;
		else if (c == 'h')
			return profile_help("merge");
		else if (c != 'H' || !half_life_parse(optarg, &half_life_ns))
			return profile_usage("merge");
	if (optind == argc || !output)
		return profile_usage("merge");
	inputs.paths = argv + optind;
	inputs.n = (size_t)(argc - optind);
	r = inputs_read(&inputs, &fault);
	if (r == 0)
		r = merge(&inputs, half_life_ns, &sum, &fault);
	if (r == 0)
		r = profile_write(sum, output, &fault);
	if (r < 0)
		return profile_failed("merge", &fault);
	result_print(sum, inputs.n, output, as_json);
	return VERB_DONE;
}
