/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * judge.h - which candidate stays: after each round, what is proven by now (cli/shared/paired.h)
 *
 * The shipped program is the first member. Of n candidates, one is *better* when its evidence to cost less than the shipped
 * program is n/error: the chance that any that is called better is not is at most `error`, however often one looks. It is
 * dropped when it has as much evidence that it gains less than `least`, or is not better than the best one by as much.
 * It is settled when nobody is left who could still win.
 */

#include "cli/shared/paired.h"
#include "cli/shared/rounds.h"

struct judge_options {
	double error; /* 0 < error < 1 */
	double least; /* a gain that is worth waiting for: 0.005 is half a per cent */
};

struct judged {
	struct paired_summary
		ratio;	 /* to the shipped program; each of its bounds is wrong with a chance of error / n */
	size_t n;	 /* rounds it took part in */
	bool is_better;	 /* beyond doubt */
	bool is_dropped; /* it is out because it cannot win, not because it failed */
};

/**
 * judge_look() - @judged: one per member; members that cannot win are out from here on
 * @retbest: the best of those that are better beyond doubt; 0: none is
 * Return: 1: settled; 0: more rounds would tell more; -ENOMEM
 */
int judge_look(struct rounds *rounds, const struct judge_options *options, struct judged *judged,
	       size_t *retbest);
