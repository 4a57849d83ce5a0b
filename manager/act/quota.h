/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * quota.h - what the programs of one owner may take: so that whoever has thousands of them squeezes nobody out
 *
 * A program is its owner's, by the shipped file's user ID (table owner); root's have no bound of their own. Bounds are
 * settings: programs_per_user, edits_per_user, edits_per_program, store_per_user, store_per_program, store_size,
 * history_per_user, history_per_program. What is too much goes oldest first; never a generation that stands somewhere,
 * nor the shipped file below it. Where nothing may go any more, the owner's programs wait.
 */

#include "manager/keep/catalog.h"
#include "manager/keep/context.h"

struct quota_edits {
	uint64_t all, of_user, of_program; /* begun in the last 24 hours, which nobody asked for */
	int64_t uid;			   /* the program's owner; -1: not known */
};

/** quota_edits() - @ret for @module */
int quota_edits(struct manager *manager, int64_t module, struct quota_edits *ret, struct fault *reterr);

/**
 * quota_store_full() - does its owner's part of the store hold all that it may, as of the last quota_collect()?
 * @retwhy: a sentence, when true
 */
bool quota_store_full(const struct manager *manager, int64_t uid, char *retwhy, size_t size);

/** quota_store_bytes() - of everybody's programs, as of the last quota_collect() */
uint64_t quota_store_bytes(const struct manager *manager);

/** quota_collect() - delete what is too much; @busy as for housekeeping(). Cost: a stat() of each file in the store */
int quota_collect(struct manager *manager, int64_t busy, struct fault *reterr);

void quota_free(struct quota *quota); /* accepts NULL */
