/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/bisect/ddmin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

struct search {
	ddmin_test *test;
	void *user;
	size_t n_all;
	size_t *left; /* positions of the parts that are left */
	size_t n;
	bool *asked; /* of n_all: the question under way */
};

static size_t chunk_start(const struct search *s, size_t i, size_t g)
{
	return s->n * i / g;
}

/* Only the @i-th of @g chunks, or all but it: does that fail? */
static int ask(struct search *s, size_t i, size_t g, bool but)
{
	size_t from = chunk_start(s, i, g), to = chunk_start(s, i + 1, g);

	memset(s->asked, 0, s->n_all * sizeof(*s->asked));
	for (size_t j = 0; j < s->n; j++)
		s->asked[s->left[j]] = (j >= from && j < to) != but;
	return s->test(s->user, s->asked, s->n_all);
}

static void keep_asked(struct search *s)
{
	size_t n = 0;

	for (size_t j = 0; j < s->n; j++)
		if (s->asked[s->left[j]])
			s->left[n++] = s->left[j];
	s->n = n;
}

/* One round with @g chunks. 1: less is left; 0: not; @retg: of the next round */
static int round_try(struct search *s, size_t g, size_t *retg)
{
	int r = 0;

	for (size_t i = 0; i < g && r == 0; i++)
		r = ask(s, i, g, false);
	if (r != 0) {
		*retg = 2;
	} else if (g > 2) { /* of two, each is the other's complement */
		for (size_t i = 0; i < g && r == 0; i++)
			r = ask(s, i, g, true);
		*retg = MAX(g - 1, (size_t)2);
	}
	if (r > 0)
		keep_asked(s);
	return r;
}

int ddmin(size_t n, ddmin_test *test, void *user, bool *ret)
{
	_clean_(freep) size_t *left = calloc(n + 1, sizeof(*left));
	_clean_(freep) bool *asked = calloc(n + 1, sizeof(*asked));
	struct search s = { test, user, n, left, n, asked };

	if (!left || !asked)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		left[i] = i;
	for (size_t g = 2; s.n > 1;) {
		size_t next = g;
		int r = round_try(&s, MIN(g, s.n), &next);

		if (r < 0)
			return r;
		if (r == 0 && g >= s.n)
			break;
		g = r > 0 ? next : 2 * g;
	}
	memset(ret, 0, n * sizeof(*ret));
	for (size_t j = 0; j < s.n; j++)
		ret[left[j]] = true;
	return (int)s.n;
}
