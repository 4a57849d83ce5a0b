/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fleet-profile FILE BUILD-ID SAMPLES [GUID:HASH:COUNT,COUNT,...|@FROM:COUNT|@FROM>TO:COUNT]...: a stored profile with these
 * functions, samples spread over them by their counts; a count "x" is a block of which nothing is known. With @ what was seen
 * at a byte of the file: samples, or jumps from there.
 * fleet-profile --show FILE: the counts again, as shares of all of them, and how sure they are; and what was seen.
 */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiles/store/profile.h"
#include "profiles/store/seen.h"

static int fail(const char *what)
{
	fprintf(stderr, "fleet-profile: %s\n", what);
	return 1;
}

static double sum_of(const struct profile_function *f)
{
	double ret = 0;

	for (uint32_t i = 0; i < f->n_counts; i++)
		ret += (double)f->counts[i].executions;
	return ret;
}

static int function_read(struct profile *profile, char *word)
{
	char *rest = NULL, *guid = strtok_r(word, ":", &rest), *hash = strtok_r(NULL, ":", &rest);
	struct profile_function *f = guid && hash ? profile_function(profile, strtoull(guid, NULL, 0)) : NULL;
	uint32_t n = 0;

	if (!f)
		return -1;
	f->cfg_hash = strtoull(hash, NULL, 0);
	for (char *count = strtok_r(NULL, ",", &rest); count; count = strtok_r(NULL, ",", &rest)) {
		if (profile_function_resize(f, ++n) < 0)
			return -1;
		if (*count != 'x')
			f->counts[n - 1] = (struct profile_count){ strtoull(count, NULL, 0), 200 };
	}
	f->confidence = 200;
	return 0;
}

/* "@FROM:COUNT", "@FROM>TO:COUNT" */
static int place_read(struct profile *profile, char *word)
{
	char *end;
	uint64_t from = strtoull(word + 1, &end, 0);
	uint64_t to = *end == '>' ? strtoull(end + 1, &end, 0) : PROFILE_SEEN_SAMPLE;

	return *end == ':' ? seen_place(profile, from, to, strtoull(end + 1, NULL, 0)) : -1;
}

static int make(int argc, char **argv)
{
	struct profile *profile = profile_new();
	struct fault fault = { "" };
	double all = 0;
	int r;

	if (!profile || build_id_parse(argv[2], &profile->build_id) < 0)
		return fail("not a build ID");
	profile->samples = strtod(argv[3], NULL);
	profile->path = strdup("/home/somebody/secret-program");
	profile->estimator = strdup("best");
	profile->first_ns = profile->last_ns = 1700000000000000000u;
	for (int i = 4; i < argc; i++)
		if (*argv[i] == '@' ? place_read(profile, argv[i]) < 0 : function_read(profile, argv[i]) < 0)
			return fail("not a function, or a place");
	seen_sort(profile);
	for (size_t i = 0; i < profile->n_functions; i++)
		all += sum_of(&profile->functions[i]);
	for (size_t i = 0; i < profile->n_functions; i++)
		profile->functions[i].samples = profile->samples * sum_of(&profile->functions[i]) / all;
	r = profile_write(profile, argv[1], &fault);
	profile_free(profile);
	return r < 0 ? fail(fault.text) : 0;
}

static int show(const char *path)
{
	struct profile *profile;
	struct fault fault = { "" };
	double all = 0;

	if (profile_read(path, &profile, &fault) < 0)
		return fail(fault.text);
	for (size_t i = 0; i < profile->n_functions; i++)
		all += sum_of(&profile->functions[i]);
	printf("samples %.0f\n", profile->samples);
	for (size_t i = 0; i < profile->n_functions; i++) {
		const struct profile_function *f = &profile->functions[i];

		printf("%" PRIu64 ":%" PRIu64 ":", f->guid, f->cfg_hash);
		for (uint32_t j = 0; j < f->n_counts; j++)
			printf("%s%.3f/%u", j ? "," : "", (double)f->counts[j].executions / all,
			       f->counts[j].confidence);
		putchar('\n');
	}
	for (size_t i = 0; i < profile->n_seen; i++) {
		const struct profile_seen *seen = &profile->seen[i];

		printf("@%" PRIu64, seen->from);
		if (seen->to != PROFILE_SEEN_SAMPLE)
			printf(">%" PRIu64, seen->to);
		printf(":%" PRIu64 "\n", seen->count);
	}
	profile_free(profile);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--show") == 0)
		return show(argv[2]);
	return argc > 4 ? make(argc, argv) : fail("usage: fleet-profile FILE BUILD-ID SAMPLES FUNCTION...");
}
