/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/count/crashes.h"

#include <errno.h>

#include "manager/count/tally.h"
#include "profiles/samples/lifecycle.h"

#define OTHERS_SAMPLES 100.0 /* of others, that show that they have used it */

/* Since when generation ?1 is watched; 0: it is not. */
#define WATCHED_SINCE                                                                             \
	"(SELECT coalesce(max(t.activated_ns), 0) FROM generation g JOIN target t ON t.module = " \
	"g.module AND t.generation = g.number AND t.watch_left_s > 0 WHERE g.id = ?1)"

static int64_t crashes_by(const struct crashes_user *user)
{
	return user->faults + user->aborts / 2;
}

static bool is_person(const struct crashes_user *user)
{
	return user->user < 0 || user->user >= CRASHES_FIRST_PERSON;
}

static int64_t starts_weigh(const struct crashes_user *users, size_t n)
{
	int64_t all = 0, sum = 0;

	for (size_t i = 0; i < n; i++)
		all += users[i].starts;
	for (size_t i = 0; i < n; i++)
		sum += is_person(&users[i]) ?
			       MIN(users[i].starts, MAX(all - users[i].starts, (int64_t)CRASHES_STARTS)) :
			       users[i].starts;
	return sum;
}

struct crashes_sum crashes_weigh(const struct crashes_user *users, size_t n, bool others_ran)
{
	struct crashes_sum sum = { .starts = starts_weigh(users, n) };
	int64_t persons = 0, of_persons = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t crashes = crashes_by(&users[i]);

		sum.raw_crashes += users[i].faults + users[i].aborts;
		sum.n_users += users[i].faults + users[i].aborts > 0;
		/* As often as it crashed somebody started it: what is left ran well. */
		others_ran |= !crashes && users[i].starts > 0;
		if (is_person(&users[i])) {
			persons += crashes > 0;
			of_persons += MIN(crashes, (int64_t)CRASHES_PERSON);
		} else {
			sum.crashes += crashes;
		}
	}
	sum.is_single = persons == 1 && others_ran;
	if (!sum.is_single)
		sum.crashes += of_persons;
	return sum;
}

int crashes_enter(struct state *state, int64_t generation, uint32_t user, int64_t starts, int64_t faults,
		  int64_t aborts, struct fault *reterr)
{
	int64_t who = user == LIFECYCLE_USER_UNKNOWN ? CRASHES_NOBODY : (int64_t)user, n, since = 0;
	int r = state_integer(state, &n, reterr,
			      "SELECT count(*) FROM run WHERE generation = ? AND user <> ?", "ii", generation,
			      who);

	if (r == 0 && n >= CRASHES_USERS && who)
		who = CRASHES_NOBODY;
	if (r == 0)
		r = state_integer(state, &since, reterr, "SELECT " WATCHED_SINCE, "i", generation);
	/* What is from an activation before does not count for this one. */
	if (r == 0)
		r = state_do(state, reterr,
			     "UPDATE run SET watch_ns = ?1, watch_starts = 0, watch_faults = 0, watch_aborts "
			     "= 0 WHERE "
			     "generation = ?2 AND watch_ns <> ?1",
			     "ii", since, generation);
	if (r == 0)
		r = state_do(state, reterr,
			     "INSERT INTO run(generation, user, starts, faults, aborts, watch_ns, "
			     "watch_starts, watch_faults, "
			     "watch_aborts) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?3, ?4, ?5) ON CONFLICT DO UPDATE "
			     "SET starts = "
			     "starts + ?3, faults = faults + ?4, aborts = aborts + ?5, watch_starts = "
			     "watch_starts + ?3, "
			     "watch_faults = watch_faults + ?4, watch_aborts = watch_aborts + ?5",
			     "iiiiii", generation, who, starts, faults, aborts, since);
	return r < 0 ? r :
		       state_do(state, reterr,
				"UPDATE generation SET starts = starts + ?, crashes = crashes + ? WHERE id = "
				"?",
				"iii", starts, faults + aborts, generation);
}

/* Has a group of users that saw no crash been sampled in it? Starts of programs that use a library are not told. */
static int others_find(struct state *state, int64_t generation, const struct crashes_user *users, size_t n,
		       bool *ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr,
			      "SELECT user, sum(weight) FROM sample WHERE generation = ? AND target = -1 "
			      "GROUP BY user HAVING "
			      "sum(weight) >= ?",
			      "id", generation, OTHERS_SAMPLES);

	*ret = false;
	while (r == 0 && (r = state_step(state, statement, reterr)) == 1) {
		int64_t group = sqlite3_column_int64(statement, 0);
		bool crashed = false;

		for (size_t i = 0; i < n; i++)
			crashed |= crashes_by(&users[i]) > 0 &&
				   tally_user(users[i].user < 0 ? SAMPLE_USER_UNKNOWN :
								  (uint32_t)users[i].user) == group;
		*ret |= !crashed;
		r = 0;
	}
	return r;
}

int crashes_of(struct state *state, int64_t generation, bool watched, struct crashes_sum *ret,
	       struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	struct crashes_user users[CRASHES_USERS + 2];
	bool others = false;
	size_t n = 0;
	int r = state_prepare(state, &statement, reterr,
			      watched ? "SELECT user, watch_starts, watch_faults, watch_aborts FROM run "
					"WHERE generation = ?1 AND watch_ns = " WATCHED_SINCE :
					"SELECT user, starts, faults, aborts FROM run WHERE generation = ?1",
			      "i", generation);

	while (r == 0 && n < ARRAY_SIZE(users) && (r = state_step(state, statement, reterr)) == 1) {
		users[n++] = (struct crashes_user){ sqlite3_column_int64(statement, 0),
						    sqlite3_column_int64(statement, 1),
						    sqlite3_column_int64(statement, 2),
						    sqlite3_column_int64(statement, 3) };
		r = 0;
	}
	if (r == 0)
		r = others_find(state, generation, users, n, &others, reterr);
	if (r == 0)
		*ret = crashes_weigh(users, n, others);
	return r;
}
