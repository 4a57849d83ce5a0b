/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * news.h - what was sampled since the last batch for the fleet, and batches that wait for its database
 *
 * Both are tables of state.db, made when the configuration names a fleet. So a sample is in exactly one of: what is gathered,
 * what a batch is being made of, a batch that waits; whatever is killed, and when. Batches are numbered, in a stream that is
 * this database's: what the fleet has taken is known by its number.
 *
 * Weights are not aged. Groups of users are kept and bounded as in tally.h.
 */

#include "base/bytes.h"
#include "manager/keep/catalog.h"
#include "profiles/samples/sample_log.h"

#define NEWS_BATCHES_MAX 4096	    /* that wait; the oldest give way */
#define NEWS_BYTES_MAX (64ll << 20) /* likewise */

/** news_open() - make the tables, if they are not there */
int news_open(struct state *state, struct fault *reterr);

/** news_add() - counts of a generation; inside the transaction that takes them into the tally */
int news_add(struct state *state, int64_t generation, const struct sample_module *from, struct fault *reterr);

/** news_candidate() - the module with the most news: at least @minimum samples, no batch since @before_ns. 0: none */
int news_candidate(struct state *state, double minimum, int64_t before_ns, int64_t *ret,
		   struct fault *reterr);

/** news_take() - a batch is made from what is there now, and what an earlier attempt left; and when this was tried */
int news_take(struct state *state, int64_t module, struct fault *reterr);
/** news_log() - what was taken of a generation, as a sample log; -ENODATA: nothing. @half_life_s is not looked at */
int news_log(struct state *state, const struct module_row *module, const struct generation_row *generation,
	     uint64_t half_life_s, struct sample_log **ret, struct fault *reterr);
/** news_keep() - what was taken is this batch, a stored profile, from here on */
int news_keep(struct state *state, int64_t module, const void *profile, size_t size, struct fault *reterr);
/** news_drop() - of this module nothing is handed over */
int news_drop(struct state *state, int64_t module, struct fault *reterr);

struct news_batch {
	int64_t sequence, module;
	struct buffer profile; /* owned */
};

/** news_batch_next() - the first one with a number above @after; -ENOENT: none waits */
int news_batch_next(struct state *state, int64_t after, struct news_batch *ret, struct fault *reterr);
/** news_batch_drop() - it was taken, or never will be */
int news_batch_drop(struct state *state, int64_t sequence, struct fault *reterr);
/** news_count() - how many wait */
int news_count(struct state *state, int64_t *ret, struct fault *reterr);

/** news_stream() - the number of our stream: 1 to 2^63 - 1 */
int news_stream(struct state *state, int64_t *ret, struct fault *reterr);
/** news_stream_check() - the fleet took numbers up to @last: more than we gave? Then we are a copy, and begin another stream */
int news_stream_check(struct state *state, int64_t last, bool *retrenewed, struct fault *reterr);
