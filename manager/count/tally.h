/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * tally.h - the samples of each generation, added up and aged
 *
 * Ageing goes by the module's own activity, not by the calendar (docs/decisions/0040): its clock is the
 * time covered by sample logs in which the module was seen at all, and after a half-life of that
 * everything older weighs half. New samples are stored with a weight that grows instead of shrinking
 * the old ones (forward decay: Cormode, Shkapenyuk, Srivastava and Xu, ICDE 2009), so taking a
 * spool file costs O(log's samples), whatever has been gathered before. When weights get large, all
 * of the module's are divided once.
 *
 * What one user's processes do must not decide how everybody's program is laid out (docs/decisions/0075). So counts are
 * kept by groups of users, and when they are taken for a profile, the heaviest group weighs at most as much as all others
 * together, or TALLY_ENOUGH samples, whichever is more. Root is a group of its own and is not bounded; where nobody else
 * has run the program nobody is.
 */

#include <stdint.h>

#include "manager/keep/catalog.h"
#include "profiles/samples/sample_log.h"

#define TALLY_USERS \
	16 /* groups: root, 14 by a hash of the user's number, and those whose number is not known */
#define TALLY_ENOUGH 20000.0 /* samples that make a profile; more make it hardly better */

/** tally_user() - the group of a user, as in struct sample_module */
int64_t tally_user(uint32_t user);
/** tally_bound() - by what the counts of group @heaviest are multiplied; weights by group, in samples */
double tally_bound(const double weights[TALLY_USERS], int *retheaviest);

/**
 * tally_advance() - the module was seen in a log: its clock goes on by the time that the log covers
 * @log_serial: identifies the log, for it may hold several generations of the module; > 0
 */
int tally_advance(struct state *state, struct module_row *module, uint64_t duration_ns, int64_t log_serial,
		  struct fault *reterr);

/**
 * tally_add() - add @from's counts to a generation; to be called inside a transaction
 * @module: its samples and last_ns are updated, in the database and in the row
 */
int tally_add(struct state *state, struct module_row *module, int64_t generation,
	      const struct sample_module *from, const struct sample_log *log, uint64_t half_life_s,
	      struct fault *reterr);

/** tally_count() - the same for a module that carries nothing: only its total */
int tally_count(struct state *state, struct module_row *module, uint64_t samples, struct fault *reterr);

/** tally_weight() - what one sample of the module counts now */
double tally_weight(const struct module_row *module, uint64_t half_life_s);
/** tally_enter() - run @statement for each count and branch: parameters from @first on are offset, target, weight */
int tally_enter(struct state *state, sqlite3_stmt *statement, int first, const struct sample_module *from,
		double weight, struct fault *reterr);

/**
 * tally_log() - what has been gathered for a generation, as a sample log with one module
 * @ret: counts are aged and rounded; owned by the caller. -ENODATA when nothing is left of it.
 */
int tally_log(struct state *state, const struct module_row *module, const struct generation_row *generation,
	      uint64_t half_life_s, struct sample_log **ret, struct fault *reterr);

/* Another table like that of samples. */
struct tally_source {
	const char *users; /* SQL: user and weight of each group; parameters: -1 (no branch), the module */
	const char *
		counts; /* SQL: offset, target, weight; parameters: heaviest group, its bound, the generation */
	double weight; /* of one sample */
};

/** tally_log_from() - tally_log() of these */
int tally_log_from(struct state *state, const struct module_row *module,
		   const struct generation_row *generation, const struct tally_source *source,
		   struct sample_log **ret, struct fault *reterr);
