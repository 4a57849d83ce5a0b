/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * comparison.h - how far two profiles agree
 *
 * Overlap is sum of min(p, q) over functions or blocks, 0 to 1 (the figure of the accuracy bench).
 * Functions meet by GUID, so builds of one program can be compared; blocks only where the
 * functions' graphs are the same (CFG hash).
 */

#include "profiles/store/profile.h"

struct comparison_function {
	const struct profile_function *a, *b; /* one may be NULL */
	double share_a, share_b;	      /* of the profiles' samples */
	bool is_changed;		      /* both there, with different graphs */
};

struct comparison {
	double functions;		  /* overlap of shares of samples */
	double functions_expected;	  /* what it would be on average if only chance told them apart */
	double blocks;			  /* overlap of executions */
	struct comparison_function *list; /* owned; largest difference of shares first */
	size_t n;
};

/** comparison_make() - both profiles are borrowed and must outlive @ret; 0 or -ENOMEM */
int comparison_make(const struct profile *a, const struct profile *b, struct comparison *ret);
void comparison_done(struct comparison *comparison);
