/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/count/usage.h"

#include <errno.h>

#include "base/clock.h"

#define FIRST_PERSON 1000u /* accounts below are the system's */
#define NOBODY (-1)	   /* user of a row that is not told whose it is */
#define LEAST_RATE_HZ 1e-3

/* Where one owner's samples go. */
struct entry {
	int64_t hour, name;
	uint64_t samples;
	double us; /* of a CPU, for each */
};

static int64_t user_number(uint32_t user)
{
	return user == SAMPLE_USER_UNKNOWN ? NOBODY : (int64_t)user;
}

/* When an hour begins, those that are too old go, and names that no hour has. */
static int hour_begin(struct state *state, int64_t hour, uint64_t days, struct fault *reterr)
{
	int64_t one;
	int r = state_integer(state, &one, reterr, "SELECT 1 FROM usage WHERE hour = ? LIMIT 1", "i", hour);

	if (r != -ENOENT)
		return r;
	r = state_do(state, reterr, "DELETE FROM usage WHERE hour < ?", "i", hour - 24 * (int64_t)days);
	return r < 0 ? r :
		       state_do(state, reterr,
				"DELETE FROM usage_name WHERE id NOT IN (SELECT name FROM usage)", "");
}

static int name_find(struct state *state, const char *process, const char *unit, int64_t user, int64_t *ret,
		     struct fault *reterr)
{
	return state_integer(state, ret, reterr,
			     "SELECT id FROM usage_name WHERE process = ? AND unit = ? AND user = ?", "tti",
			     process, unit, user);
}

static int name_enter(struct state *state, const char *process, const char *unit, int64_t user, int64_t *ret,
		      struct fault *reterr)
{
	int r = name_find(state, process, unit, user, ret, reterr);

	if (r != -ENOENT)
		return r;
	r = state_do(state, reterr, "INSERT INTO usage_name(process, unit, user) VALUES(?, ?, ?)", "tti",
		     process, unit, user);
	*ret = state_last_id(state);
	return r;
}

/* Is there room for a name that this hour does not have yet? */
static int has_room(struct state *state, int64_t hour, int64_t user, struct fault *reterr)
{
	int64_t n = 0, of_user = 0;
	int r = state_integer(state, &n, reterr, "SELECT count(*) FROM usage WHERE hour = ?", "i", hour);

	if (r == 0 && user >= FIRST_PERSON)
		r = state_integer(state, &of_user, reterr,
				  "SELECT count(*) FROM usage JOIN usage_name ON id = name "
				  "WHERE hour = ? AND user = ?",
				  "ii", hour, user);
	return r < 0 ? r : n < USAGE_OF_HOUR && of_user < USAGE_OF_USER;
}

static int is_entered(struct state *state, const struct entry *entry, struct fault *reterr)
{
	int64_t one;
	int r = state_integer(state, &one, reterr, "SELECT 1 FROM usage WHERE hour = ? AND name = ?", "ii",
			      entry->hour, entry->name);

	return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

static int entry_add(struct state *state, const struct entry *entry, struct fault *reterr)
{
	return state_do(state, reterr,
			"INSERT INTO usage(hour, name, samples, cpu_us) VALUES(?, ?, ?, ?) "
			"ON CONFLICT(hour, name) DO UPDATE SET samples = samples + excluded.samples, "
			"cpu_us = cpu_us + excluded.cpu_us",
			"iiii", entry->hour, entry->name, (int64_t)entry->samples,
			(int64_t)((double)entry->samples * entry->us));
}

/* A name is entered only where there is room for it. */
static int owner_add(struct state *state, const struct owner *owner, struct entry *entry,
		     struct fault *reterr)
{
	int64_t user = user_number(owner->user);
	int r = name_find(state, owner->process, owner->unit, user, &entry->name, reterr), is_there = 0;

	if (r == 0)
		is_there = is_entered(state, entry, reterr);
	if (is_there < 0 || (r < 0 && r != -ENOENT))
		return is_there < 0 ? is_there : r;
	if (!is_there) {
		r = has_room(state, entry->hour, user, reterr);
		if (r == 0) /* the user's, still */
			r = name_enter(state, "", "", user, &entry->name, reterr);
		else if (r > 0)
			r = name_enter(state, owner->process, owner->unit, user, &entry->name, reterr);
	}
	entry->samples = owner->count;
	return r < 0 ? r : entry_add(state, entry, reterr);
}

static int forget_all(struct state *state, struct fault *reterr)
{
	int r = state_do(state, reterr, "DELETE FROM usage", "");

	return r < 0 ? r : state_do(state, reterr, "DELETE FROM usage_name", "");
}

int usage_add(struct state *state, const struct sample_log *log, uint64_t days, struct fault *reterr)
{
	int64_t now = (int64_t)(clock_ns(CLOCK_REALTIME) / USAGE_HOUR_NS);
	struct entry entry = { .hour = (int64_t)((log->start_ns + log->duration_ns / 2) / USAGE_HOUR_NS) };
	uint64_t busy = log->user + log->kernel, owned = owners_total(&log->owners) - log->owners.n_nobody;
	int r;

	if (!days)
		return forget_all(state, reterr);
	if (!(log->rate_hz >= LEAST_RATE_HZ) || !busy || !log->owners.n || entry.hour > now + 1 ||
	    entry.hour < now - 24 * (int64_t)days)
		return 0;
	entry.us = 1e6 / log->rate_hz;
	r = hour_begin(state, entry.hour, days, reterr);
	for (size_t i = 0; r == 0 && i < log->owners.n; i++)
		r = owner_add(state, &log->owners.list[i], &entry, reterr);
	if (r < 0 || busy <= owned)
		return r;
	entry.samples = busy - owned;
	r = name_enter(state, "", "", NOBODY, &entry.name, reterr);
	return r < 0 ? r : entry_add(state, &entry, reterr);
}
