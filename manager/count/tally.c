/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/count/tally.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "manager/keep/journal.h"

#define NOT_A_BRANCH (-1)
#define RENORMALIZE_AT 64.0 /* half-lives: 2^64 is far from what a double cannot hold */
#define DURATION_MAX_NS (400ll * 86400 * 1000000000) /* of one log; more is a broken clock */
#define FORGOTTEN 1e-3				     /* of a sample */

/* In half-lives since the time at which a weight is 1. */
static double age_of(const struct module_row *module, uint64_t half_life_s)
{
	return (double)(module->activity_ns - module->age_ns) / (1e9 * (double)half_life_s);
}

int tally_advance(struct state *state, struct module_row *module, uint64_t duration_ns, int64_t log_serial,
		  struct fault *reterr)
{
	int64_t ns = (int64_t)MIN(duration_ns, (uint64_t)DURATION_MAX_NS);
	int r = state_do(state, reterr,
			 "UPDATE module SET activity_ns = min(activity_ns, ?) + ?, activity_log = ? "
			 "WHERE id = ? AND activity_log <> ?",
			 "iiiii", (int64_t)INT64_MAX / 2, ns, log_serial, module->id, log_serial);

	return r < 0 ? r :
		       state_integer(state, &module->activity_ns, reterr,
				     "SELECT activity_ns FROM module WHERE id = ?", "i", module->id);
}

static int renormalize(struct state *state, struct module_row *module, double weight, struct fault *reterr)
{
	int r = state_do(state, reterr,
			 "UPDATE sample SET weight = weight / ? WHERE generation IN "
			 "(SELECT id FROM generation WHERE module = ?)",
			 "di", weight, module->id);

	if (r == 0)
		r = state_do(state, reterr,
			     "DELETE FROM sample WHERE weight < ? AND generation IN "
			     "(SELECT id FROM generation WHERE module = ?)",
			     "di", FORGOTTEN, module->id);
	if (r == 0)
		r = state_do(state, reterr, "UPDATE module SET age_ns = activity_ns WHERE id = ?", "i",
			     module->id);
	module->age_ns = module->activity_ns;
	return r;
}

int64_t tally_user(uint32_t user)
{
	if (user == 0 || user == SAMPLE_USER_UNKNOWN)
		return user ? TALLY_USERS - 1 : 0;
	/* Fibonacci hashing (Knuth, volume 3, section 6.4); neighbours get different groups. */
	return 1 + (int64_t)(((uint64_t)(user * 2654435769u) * (TALLY_USERS - 2)) >> 32);
}

double tally_bound(const double weights[TALLY_USERS], int *retheaviest)
{
	double all = weights[0], others;
	int heaviest = 1;

	for (int i = 1; i < TALLY_USERS; i++) {
		all += weights[i];
		if (weights[i] > weights[heaviest])
			heaviest = i;
	}
	*retheaviest = heaviest;
	others = all - weights[heaviest];
	/* Less than half a sample of others is nobody. */
	if (others < 0.5 || weights[heaviest] <= fmax(others, TALLY_ENOUGH))
		return 1;
	return fmax(others, TALLY_ENOUGH) / weights[heaviest];
}

double tally_weight(const struct module_row *module, uint64_t half_life_s)
{
	return exp2(age_of(module, half_life_s));
}

static int add_one(struct state *state, sqlite3_stmt *statement, int first, uint64_t offset, int64_t target,
		   double weight, struct fault *reterr)
{
	int r;

	sqlite3_bind_int64(statement, first, (int64_t)offset);
	sqlite3_bind_int64(statement, first + 1, target);
	sqlite3_bind_double(statement, first + 2, weight);
	r = state_step(state, statement, reterr);
	sqlite3_reset(statement);
	return r;
}

int tally_enter(struct state *state, sqlite3_stmt *statement, int first, const struct sample_module *from,
		double weight, struct fault *reterr)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n_counts; i++)
		r = add_one(state, statement, first, from->counts[i].offset, NOT_A_BRANCH,
			    weight * (double)from->counts[i].count, reterr);
	for (size_t i = 0; r == 0 && i < from->n_branches; i++)
		r = add_one(state, statement, first, from->branches[i].from, (int64_t)from->branches[i].to,
			    weight * (double)from->branches[i].count, reterr);
	return r;
}

static int add_counts(struct state *state, int64_t generation, const struct sample_module *from,
		      double weight, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(
		state, &statement, reterr,
		"INSERT INTO sample(generation, user, offset, target, weight) VALUES(?, ?, ?, ?, ?) "
		"ON CONFLICT DO UPDATE SET weight = weight + excluded.weight",
		"ii", generation, tally_user(from->user));

	return r < 0 ? r : tally_enter(state, statement, 3, from, weight, reterr);
}

int tally_count(struct state *state, struct module_row *module, uint64_t samples, struct fault *reterr)
{
	module->last_ns = journal_now_ns();
	module->samples += (int64_t)MIN(samples, (uint64_t)INT64_MAX / 4);
	module->samples = MIN(module->samples, INT64_MAX / 4);
	return state_do(state, reterr, "UPDATE module SET samples = ?, last_ns = ? WHERE id = ?", "iii",
			module->samples, module->last_ns, module->id);
}

int tally_add(struct state *state, struct module_row *module, int64_t generation,
	      const struct sample_module *from, const struct sample_log *log, uint64_t half_life_s,
	      struct fault *reterr)
{
	double age = age_of(module, half_life_s);
	int r = 0;

	if (age >= RENORMALIZE_AT) {
		r = renormalize(state, module, exp2(age), reterr);
		age = 0;
	}
	if (r == 0)
		r = add_counts(state, generation, from, exp2(age), reterr);
	if (r == 0)
		r = state_do(state, reterr,
			     "UPDATE generation SET samples = samples + ?, source = ?, rate_hz = ? "
			     "WHERE id = ?",
			     "iidi", (int64_t)MIN(from->total, (uint64_t)INT64_MAX / 4), (int64_t)log->source,
			     log->rate_hz, generation);
	return r < 0 ? r : tally_count(state, module, from->total, reterr);
}

/* The heaviest group of users of the module, in all its generations, and what its counts are multiplied by. */
static int bound_find(struct state *state, const struct module_row *module, const struct tally_source *source,
		      int *retheaviest, double *retbound, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	double weights[TALLY_USERS] = { 0 };
	int r = state_prepare(state, &statement, reterr, source->users, "ii", (int64_t)NOT_A_BRANCH,
			      module->id);

	while (r == 0 && (r = state_step(state, statement, reterr)) == 1) {
		int64_t user = sqlite3_column_int64(statement, 0);

		if (user >= 0 && user < TALLY_USERS)
			weights[user] = sqlite3_column_double(statement, 1) / source->weight;
		r = 0;
	}
	*retbound = tally_bound(weights, retheaviest);
	return r;
}

static int read_counts(struct state *state, sqlite3_stmt *statement, double weight,
		       struct sample_module *into, struct fault *reterr)
{
	int r;

	while ((r = state_step(state, statement, reterr)) == 1) {
		uint64_t offset = (uint64_t)sqlite3_column_int64(statement, 0);
		int64_t target = sqlite3_column_int64(statement, 1);
		uint64_t count = (uint64_t)(sqlite3_column_double(statement, 2) / weight + 0.5);

		if (count)
			r = target == NOT_A_BRANCH ?
				    sample_module_add(into, offset, count) :
				    sample_module_add_branch(into, offset, (uint64_t)target, count);
		if (count && r < 0)
			return fault_errno(reterr, r, "samples of %s", into->path);
	}
	return r;
}

int tally_log_from(struct state *state, const struct module_row *module,
		   const struct generation_row *generation, const struct tally_source *source,
		   struct sample_log **ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	struct sample_module *into;
	struct build_id build_id;
	int heaviest = 0;
	double bound = 1;
	int r = build_id_parse(generation->build_id, &build_id);

	if (r < 0)
		return fault_set(reterr, r, "%s: not a build ID", generation->build_id);
	into = log ? sample_log_module(log, SAMPLE_MODULE_FILE, &build_id, module->path, 0, 0) : NULL;
	if (!into)
		return fault_errno(reterr, -ENOMEM, "samples of %s", module->path);
	r = bound_find(state, module, source, &heaviest, &bound, reterr);
	if (r == 0)
		r = state_prepare(state, &statement, reterr, source->counts, "idi", (int64_t)heaviest, bound,
				  generation->id);
	if (r == 0)
		r = read_counts(state, statement, source->weight, into, reterr);
	if (r < 0)
		return r;
	log->source = (enum sample_source)generation->source;
	log->rate_hz = generation->rate_hz;
	log->start_ns = (uint64_t)module->first_ns;
	log->n_cpus = 1;
	sample_log_normalize(log);
	if (!log->n_modules)
		return fault_set(reterr, -ENODATA, "%s: no samples", module->path);
	log->fired = log->user = log->attributed = log->modules[0].total;
	*ret = TAKE(log);
	return 0;
}

int tally_log(struct state *state, const struct module_row *module, const struct generation_row *generation,
	      uint64_t half_life_s, struct sample_log **ret, struct fault *reterr)
{
	const struct tally_source all = {
		.users = "SELECT user, sum(weight) FROM sample WHERE target = ? AND generation IN (SELECT id "
			 "FROM generation WHERE module = ?) GROUP BY user",
		.counts = "SELECT offset, target, sum(CASE user WHEN ? THEN weight * ? ELSE weight END) FROM "
			  "sample WHERE generation = ? GROUP BY offset, target",
		.weight = tally_weight(module, half_life_s),
	};

	return tally_log_from(state, module, generation, &all, ret, reterr);
}
