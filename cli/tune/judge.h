/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * judge.h - which candidate stays: after each round, what is proven by now (cli/shared/paired.h)
 *
 * The shipped program is the first member. Of n candidates, one is *better* when its evidence to cost less than the shipped
 * program is n/error: the chance that any that is called better is not is at most `error`, however often one looks. It is
 * dropped when it has as much evidence that it gains less than `least`, or is not better than the best one by as much.
 * It is settled when nobody is left who could still win.
 *
 * After 4 rounds only the better half of the candidates goes on, by the medians of their ratios, after 8 the better quarter, and
 * so on down to one, or two once one is better; the others rest, and come back when those fall behind or are dropped
 * ("successive halving": Karnin, Koren, Somekh, "Almost Optimal Exploration in Multi-Armed Bandits", ICML 2013). Who takes part
 * in a round is decided by the rounds before it alone, so no evidence is worth less by it, and most runs are of those that may
 * win.
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
 * judge_look() - @judged: one per member; members that cannot win are out from here on, and those that are behind rest
 * @retbest: the best of those that are better beyond doubt; 0: none is
 * Return: 1: settled; 0: more rounds would tell more; -ENOMEM
 */
int judge_look(struct rounds *rounds, const struct judge_options *options, struct judged *judged,
	       size_t *retbest);
