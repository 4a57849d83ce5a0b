/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * prior.h - what others counted in the same build, as a prior for what was counted here
 *
 * Many machines (docs/format-fleet.md), or a packager's own runs, know a program long before this one does, and may use it
 * differently. So their profile counts as some samples more, and how many is asked of the samples here: if the functions
 * are drawn from a Dirichlet distribution with the prior's shares as its mean and `strength` as its concentration, those
 * here are Dirichlet-multinomial (Mosimann, Biometrika 1962; Minka, "Estimating a Dirichlet distribution", 2000, section 2).
 * Taken is the largest strength under which what was seen here is not clearly less likely than under the best one. A few
 * samples say nothing against a prior; many that fall elsewhere leave nothing of it.
 *
 * Samples are time, and time depends on the code that ran, which others may have had other than this machine has: what
 * functions that ran here and there have of the prior is also shared anew, by their executions there and what one takes here,
 * and stands so if more of it stands then.
 *
 * Functions that had another graph there, and what of its samples fell into them (profile->dropped), speak neither for nor
 * against those here that the prior does not know: these keep their share.
 *
 * Within functions the prior's counts are as sure as they say, but not surer than that many samples are.
 */

#include "module/block_map.h"
#include "profiles/store/profile.h"

#define PRIOR_STRENGTH_MAX 20000.0 /* samples: what makes a profile; more make it hardly better */

struct prior_report {
	double strength; /* samples that the prior counts as; 0: none of it is used */
	double most;	 /* that it could have counted as */
	double own;	 /* samples here */
	double overlap; /* of shares of functions, here and there: 0 none, 1 the same; NAN: no samples here */
	double fitting,
		dropped;    /* samples of the prior in functions that are used, and in those that are not */
	size_t n_functions; /* of the prior that are used */
	size_t n_functions_dropped; /* which the program does not have, or with another graph */
};

/**
 * prior_add() - @own, with what @prior adds to it
 * @map: of the shipped program; what of the prior does not fit to it is left out
 * Return: 0; -EXDEV: they are of different builds, or one is of exact counts; -ENOMEM; @own is as before then
 * Cost: O(n log n), 30 times O(n) logarithms of the gamma function.
 */
int prior_add(struct profile *own, const struct profile *prior, const struct block_map *map,
	      struct prior_report *ret, struct fault *reterr);

/**
 * prior_fit() - of @from, which may be of another build, the functions that this one has with the same graph; how many samples
 * others had is kept (profile->dropped)
 * Their counts alone: no path, no times, no names. @build_id: of the shipped program that @map is of
 * Return: 0; -ENODATA: none fits; -EXDEV: @from is of exact counts; -ENOMEM
 */
int prior_fit(const struct profile *from, const struct block_map *map, const struct build_id *build_id,
	      struct profile **ret, struct prior_report *retreport, struct fault *reterr);

/**
 * prior_strength() - how many samples the prior counts as
 * @own: samples of each function here; @shares: of the prior, may be 0; both have @n
 * @max: > 0, at most
 */
double prior_strength(const double *own, const double *shares, size_t n, double max);
