/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/tune/judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define HALVED_AFTER 4u /* rounds; then after twice as many, and so on */

struct look {
	struct rounds *rounds;
	const struct judge_options *options;
	struct judged *judged;
	double level;	/* of evidence */
	double *ratios; /* room for one member's */
};

static bool is_in(const struct look *look, size_t i)
{
	return !look->rounds->members[i].out[0];
}

static void member_look(const struct look *look, size_t i)
{
	struct rounds_member *members = look->rounds->members;
	struct judged *judged = &look->judged[i];

	judged->n = rounds_ratios(look->rounds, &members[i], &members[0], look->ratios);
	if (!paired_summarize(look->ratios, judged->n, 2 / look->level, &judged->ratio) || !is_in(look, i))
		return;
	judged->is_better = paired_less(look->ratios, judged->n, 1) >= look->level;
	judged->is_dropped = paired_more(look->ratios, judged->n, 1 - look->options->least) >= look->level;
	if (judged->is_dropped && judged->ratio.low > 1)
		snprintf(members[i].out, sizeof(members[i].out), "slower");
	else if (judged->is_dropped)
		snprintf(members[i].out, sizeof(members[i].out), "gains less than %g %%, if anything",
			 100 * look->options->least);
}

/* Is it proven not to be better than the best one by as much as would matter? */
static void rival_look(const struct look *look, size_t i, size_t best)
{
	struct rounds_member *members = look->rounds->members;
	size_t n = rounds_ratios(look->rounds, &members[i], &members[best], look->ratios);

	look->judged[i].is_dropped = paired_more(look->ratios, n, 1 - look->options->least) >= look->level;
	if (look->judged[i].is_dropped)
		snprintf(members[i].out, sizeof(members[i].out), "no better than %s", members[best].name);
}

static size_t best_of(const struct look *look)
{
	size_t best = 0;

	for (size_t i = 1; i < look->rounds->n; i++)
		if (is_in(look, i) && look->judged[i].is_better &&
		    (!best || look->judged[i].ratio.median < look->judged[best].ratio.median))
			best = i;
	return best;
}

/* How many candidates take part in the next round, of @n. One is enough until it is proven; then it has a rival. */
static size_t field_size(size_t n, size_t n_done, bool has_best)
{
	size_t least = has_best ? 2 : 1;

	for (size_t rounds = HALVED_AFTER; rounds <= n_done && n > least; rounds *= 2)
		n = (n + 1) / 2;
	return n;
}

/* Does this candidate come before another one, as far as they were measured? What stands first in the table wins a tie. */
static bool is_ahead(const struct look *look, size_t i, size_t of)
{
	double a = look->judged[i].ratio.median, b = look->judged[of].ratio.median;

	return a < b || (a == b && i < of);
}

/* Those with the lowest medians go on, the others rest. */
static void field_choose(const struct look *look, bool has_best)
{
	size_t size = field_size(look->rounds->n - 1, look->rounds->n_done, has_best);

	for (size_t i = 1; i < look->rounds->n; i++) {
		size_t n_ahead = 0;

		for (size_t k = 1; k < look->rounds->n; k++)
			n_ahead += k != i && is_in(look, k) && is_ahead(look, k, i);
		look->rounds->members[i].rests = n_ahead >= size;
	}
}

int judge_look(struct rounds *rounds, const struct judge_options *options, struct judged *judged,
	       size_t *retbest)
{
	_clean_(freep) double *ratios = calloc(rounds->n_done + 1, sizeof(*ratios));
	struct look look = { rounds, options, judged, (double)(rounds->n - 1) / options->error, ratios };
	size_t n_in = 0;

	if (!ratios)
		return -ENOMEM;
	for (size_t i = 1; i < rounds->n; i++)
		member_look(&look, i);
	*retbest = best_of(&look);
	for (size_t i = 1; i < rounds->n && *retbest; i++)
		if (i != *retbest && is_in(&look, i))
			rival_look(&look, i, *retbest);
	field_choose(&look, *retbest);
	for (size_t i = 1; i < rounds->n; i++)
		n_in += is_in(&look, i);
	return n_in == (*retbest ? 1 : 0);
}
