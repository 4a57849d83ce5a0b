/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/act/profile_answer.h"

#include <string.h>

#include "tests/test.h"

static bool agrees(const char *priors)
{
	static const enum prior_source sources[] = { PRIOR_FLEET, PRIOR_PACKAGE };
	struct profile_answer answer;
	char text[512];

	snprintf(text, sizeof(text), "{\"priors\": [%s]}", priors);
	profile_answer_of(text, strlen(text), sources, ARRAY_SIZE(sources), &answer);
	return answer.agrees;
}

#define PRIOR(samples, most, overlap) \
	"{\"samples\": " samples ", \"at_most\": " most ", \"overlap\": " overlap "}"

TEST(half_of_what_could_be_used_is_agreement)
{
	CHECK(agrees(PRIOR("600", "1000", "0.3") "," PRIOR("0", "100", "0.3")));
	CHECK(!agrees(PRIOR("400", "1000", "0.3") "," PRIOR("0", "100", "0.3")));
}

TEST(so_is_time_in_the_same_functions)
{
	CHECK(agrees(PRIOR("256", "8000", "0.93") "," PRIOR("10", "100", "0.97")));
	CHECK(!agrees(PRIOR("256", "8000", "0.93") "," PRIOR("10", "100", "0.6")));
	CHECK(!agrees(PRIOR("256", "8000", "0.89") "," PRIOR("10", "100", "0.97")));
}

TEST(nothing_used_or_said_is_none)
{
	CHECK(!agrees(PRIOR("0", "8000", "1") "," PRIOR("0", "100", "1")));
	CHECK(!agrees(PRIOR("256", "8000", "null") "," PRIOR("10", "100", "0.97")));
	CHECK(!agrees(PRIOR("256", "8000", "1e9") "," PRIOR("10", "100", "0.97")));
	CHECK(!agrees(PRIOR("256", "8000", "\"1\"") "," PRIOR("10", "100", "0.97")));
	CHECK(!agrees(""));
}

TEST_MAIN()
