/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * example.h - a small profile for tests, and what is done with it again and again
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiles/store/profile.h"
#include "tests/test.h"

#define DAY_NS (24 * 3600 * 1000000000ull)

static inline void function_add(struct profile *profile, uint64_t guid, const char *name, double samples,
				uint64_t first_count, uint32_t n_counts)
{
	struct profile_function *f = profile_function(profile, guid);

	CHECK(f && profile_function_resize(f, n_counts) == 0);
	f->name = name ? strdup(name) : NULL;
	f->cfg_hash = guid * 3;
	f->samples = samples;
	f->confidence = 200;
	profile->samples += samples;
	for (uint32_t i = 0; i < n_counts; i++)
		f->counts[i] = (struct profile_count){ first_count >> i, first_count >> i ? 213 : 0 };
}

static inline struct profile *example(void)
{
	struct profile *profile = profile_new();

	profile->build_id = (struct build_id){ .size = 4, .bytes = { 1, 2, 3, 4 } };
	profile->path = strdup("/usr/bin/example");
	profile->estimator = strdup("best");
	profile->unmapped = 3.5;
	profile->first_ns = 1700000000000000000u;
	profile->last_ns = profile->first_ns + DAY_NS;
	profile->activity_ns = DAY_NS / 24;
	function_add(profile, 0xffffffffffffff00u, "last", 20, 1u << 20, 24);
	function_add(profile, 5, "first", 70, 1000, 3);
	function_add(profile, 77, NULL, 10, 7, 1);
	return profile;
}

static inline char *dump(const struct profile *profile)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	profile_dump(profile, out);
	fclose(out);
	return text;
}

static inline void check_equal(const struct profile *a, const struct profile *b)
{
	_clean_(freep) char *x = dump(a), *y = dump(b);

	CHECK_STR(x, y);
}

static inline struct profile *copy(const struct profile *profile)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct profile *again = NULL;
	struct fault fault = { "" };

	CHECK_INT(profile_encode(profile, &bytes), 0);
	if (profile_decode(bytes.data, bytes.size, &again, &fault) != 0)
		FAIL("%s", fault.text);
	return again;
}
