/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/act/profile_answer.h"

#include <stdio.h>
#include <string.h>

#include "base/json_reader.h"

#define SAMPLES_MAX 1e15
#define AGREES 0.5
#define OVERLAPS 0.9 /* what is hot is nine tenths of the time (decision 5) */

/* A number of samples; 0: it is not said. */
static double samples_at(struct json_reader *json, const char *query)
{
	double ret = 0;

	return json_reader_number(json, query, &ret) && ret > 0 && ret < SAMPLES_MAX ? ret : 0;
}

static void priors_take(struct json_reader *json, const enum prior_source *sources, size_t n,
			struct profile_answer *ret)
{
	double used = 0, at_most = 0;
	bool overlaps = n > 0;
	char query[48];

	for (size_t i = 0; i < n; i++) {
		double samples, overlap = 0;

		snprintf(query, sizeof(query), "$.priors[%zu].samples", i);
		samples = samples_at(json, query);
		snprintf(query, sizeof(query), "$.priors[%zu].at_most", i);
		at_most += samples_at(json, query);
		snprintf(query, sizeof(query), "$.priors[%zu].overlap", i);
		overlaps = overlaps && json_reader_number(json, query, &overlap) && overlap >= OVERLAPS &&
			   overlap <= 1;
		used += samples;
		ret->others[sources[i]] += samples;
	}
	ret->agrees = used > 0 && (overlaps || used >= AGREES * at_most);
}

static void take(struct json_reader *json, const enum prior_source *sources, size_t n,
		 struct profile_answer *ret)
{
	_clean_(freep) char *verdict = json_reader_text(json, "$.verdict");

	*ret = (struct profile_answer){ .missing = samples_at(json, "$.missing_samples") };
	ret->is_thin = verdict && (strcmp(verdict, "too-few") == 0 || strcmp(verdict, "empty") == 0);
	if (ret->missing < 1)
		ret->missing = 1;
	priors_take(json, sources, n, ret);
}

void profile_answer_of(const char *text, size_t size, const enum prior_source *sources, size_t n,
		       struct profile_answer *ret)
{
	_clean_(json_reader_freep) struct json_reader *json = json_reader_of(text, size);

	take(json, sources, n, ret);
}

void profile_answer_read(const char *path, const enum prior_source *sources, size_t n,
			 struct profile_answer *ret)
{
	_clean_(json_reader_freep) struct json_reader *json = json_reader_open(path);

	take(json, sources, n, ret);
}
