/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * crashes.h - who started a generation, for whom it crashed, and how much that weighs
 *
 * Anybody can make a program of their own crash as often as they like. So what counts is for how many it crashes, and
 * whether it runs well for others (docs/decisions/0075):
 *
 *	- a death by a signal that the kernel raised for a fault is a crash; an abort(3) is half of one
 *	- root's and the system accounts' (below CRASHES_FIRST_PERSON) count each
 *	- a person's count CRASHES_PERSON at most, and not at all when only one person has any and somebody else has run the
 *	  same generation without
 *
 * Starts are evened out the same way: one person's weigh no more than all others' together, or CRASHES_STARTS.
 */

#include "manager/keep/state.h"

#define CRASHES_FIRST_PERSON 1000
#define CRASHES_PERSON 3
#define CRASHES_STARTS 1000
#define CRASHES_USERS 256   /* of one generation that are told apart; all others are one person */
#define CRASHES_NOBODY (-1) /* a user who is not known */

/** What one user saw of one generation. */
struct crashes_user {
	int64_t user; /* CRASHES_NOBODY: not known; a person */
	int64_t starts, faults, aborts;
};

struct crashes_sum {
	int64_t starts, crashes; /* as they weigh */
	int64_t raw_crashes;	 /* as they happened */
	int64_t n_users;	 /* for whom it crashed */
	bool is_single;		 /* they did not count, because only one person has any */
};

/** crashes_weigh() - @others_ran: somebody whose starts are not told has used it, too (a library) */
struct crashes_sum crashes_weigh(const struct crashes_user *users, size_t n, bool others_ran);

/** crashes_enter() - inside a transaction: so many more starts, faults and aborts of a user; user as in struct lifecycle_event */
int crashes_enter(struct state *state, int64_t generation, uint32_t user, int64_t starts, int64_t faults,
		  int64_t aborts, struct fault *reterr);

/** crashes_of() - what is known of a generation: ever, or since its last activation while it is watched */
int crashes_of(struct state *state, int64_t generation, bool watched, struct crashes_sum *ret,
	       struct fault *reterr);
