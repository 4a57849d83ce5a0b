/* SPDX-License-Identifier: Apache-2.0 */

/* What a profile command says of its profile: whatever it is, what is taken from it are numbers of samples. */

#include "manager/act/profile_answer.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum prior_source sources[] = { PRIOR_FLEET, PRIOR_PACKAGE };

	for (size_t n = 0; n <= ARRAY_SIZE(sources); n++) {
		struct profile_answer answer;
		double others = 0;

		profile_answer_of((const char *)data, size, sources, n, &answer);
		must(answer.missing >= 1 && answer.missing < 1e15);
		for (int i = 0; i < PRIOR_SOURCES; i++) {
			must(answer.others[i] >= 0 && answer.others[i] < 1e15);
			must((size_t)i < n || !(answer.others[i] > 0));
			others += answer.others[i];
		}
		must(!answer.agrees || others > 0);
	}
	return 0;
}
