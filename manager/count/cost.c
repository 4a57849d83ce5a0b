/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/count/cost.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define HOUR_NS (3600ull * 1000000000)
#define Z_SHOWN 1.96 /* 95 % */
#define Z_ACTED 3.29 /* 99.9 %: it is looked at again and again */
#define WORTH_ACTING 0.01
#define ROOT 0 /* its group */

/* ---- arithmetic ---- */

/* What one user's hours with one generation say. */
struct side {
	double cost;	 /* CPU seconds a start */
	double variance; /* relative */
	double starts, hours;
};

/* The same user with both: the logarithm of made / shipped. */
struct pair {
	int64_t user;
	double log_ratio, variance, degrees, starts, weight;
};

static struct side side_of(const struct cost_hour *hours, size_t n)
{
	double cpu = 0, samples = 0, squares = 0;
	struct side ret = { .hours = (double)n };

	for (size_t i = 0; i < n; i++) {
		cpu += hours[i].cpu_s;
		samples += hours[i].samples;
		ret.starts += hours[i].starts;
	}
	if (n < COST_HOURS || ret.starts < COST_STARTS || !(cpu > 0) || !(samples > 0))
		return (struct side){ 0 };
	ret.cost = cpu / ret.starts;
	for (size_t i = 0; i < n; i++) {
		double residue = hours[i].cpu_s - ret.cost * hours[i].starts;

		squares += residue * residue;
	}
	ret.variance = fmax(squares / (cpu * cpu) * (double)n / (double)(n - 1), 1 / samples);
	return ret;
}

static size_t run_of(const struct cost_hour *hours, size_t n)
{
	size_t ret = 0;

	while (ret < n && hours[ret].user == hours[0].user)
		ret++;
	return ret;
}

/* Student's quantile for a normal one (first term of the expansion by Cornish and Fisher). */
static double quantile(double z, double degrees)
{
	return z + (z * z * z + z) / (4 * degrees);
}

static size_t pairs_make(const struct cost_hour *shipped, size_t n_shipped, const struct cost_hour *made,
			 size_t n_made, struct pair ret[TALLY_USERS])
{
	size_t n = 0, a = 0, b = 0;

	while (a < n_shipped && b < n_made && n < TALLY_USERS) {
		size_t n_a = run_of(shipped + a, n_shipped - a), n_b = run_of(made + b, n_made - b);
		int64_t user_a = shipped[a].user, user_b = made[b].user;

		if (user_a == user_b) {
			struct side before = side_of(shipped + a, n_a), after = side_of(made + b, n_b);

			if (before.cost > 0 && after.cost > 0)
				ret[n++] = (struct pair){ .user = user_a,
							  .log_ratio = log(after.cost / before.cost),
							  .variance = before.variance + after.variance,
							  .degrees = before.hours + after.hours - 2,
							  .starts = after.starts };
		}
		a += user_a <= user_b ? n_a : 0;
		b += user_b <= user_a ? n_b : 0;
	}
	return n;
}

/* Nobody weighs more than all others together. */
static void weights_set(struct pair *pairs, size_t n)
{
	size_t heaviest = 0;
	double all = 0;

	for (size_t i = 0; i < n; i++) {
		pairs[i].weight = 1 / pairs[i].variance;
		all += pairs[i].weight;
		heaviest = pairs[i].weight > pairs[heaviest].weight ? i : heaviest;
	}
	if (n > 1)
		pairs[heaviest].weight = fmin(pairs[heaviest].weight, all - pairs[heaviest].weight);
}

struct cost_gain cost_compare(const struct cost_hour *shipped, size_t n_shipped, const struct cost_hour *made,
			      size_t n_made)
{
	struct pair pairs[TALLY_USERS];
	size_t n = pairs_make(shipped, n_shipped, made, n_made, pairs);
	struct cost_gain ret = { .n_users = (int64_t)n };
	double weight = 0, mean = 0, variance = 0, spread = 0, degrees = 0, width;

	if (!n)
		return ret;
	weights_set(pairs, n);
	for (size_t i = 0; i < n; i++) {
		weight += pairs[i].weight;
		mean += pairs[i].weight * pairs[i].log_ratio;
		variance += pairs[i].weight * pairs[i].weight * pairs[i].variance;
		degrees += pairs[i].degrees;
		ret.starts += (int64_t)pairs[i].starts;
	}
	mean /= weight;
	variance /= weight * weight;
	for (size_t i = 0; i < n; i++) {
		const struct pair *p = &pairs[i];
		double far = quantile(Z_ACTED, p->degrees) * sqrt(p->variance);
		bool is_slower = p->log_ratio - far > log1p(WORTH_ACTING);

		spread += (p->log_ratio - mean) * (p->log_ratio - mean) / p->variance;
		ret.n_slower += is_slower;
		ret.n_faster += p->log_ratio + far < -log1p(WORTH_ACTING);
		ret.root_is_slower |= is_slower && p->user == ROOT;
	}
	if (n > 1)
		variance *= fmax(1, spread / (double)(n - 1));
	width = quantile(Z_SHOWN, degrees) * sqrt(variance);
	ret.gain = 1 - exp(mean);
	ret.low = 1 - exp(mean + width);
	ret.high = 1 - exp(mean - width);
	return ret;
}

bool cost_is_slower(const struct cost_gain *gain, int64_t n_runners)
{
	if (gain->n_users <= 0 || gain->n_slower <= gain->n_faster)
		return false;
	return gain->root_is_slower || gain->n_slower >= 2 || n_runners == 1;
}

/* ---- the table ---- */

static int64_t hour_of(uint64_t time_ns)
{
	return (int64_t)(time_ns / HOUR_NS);
}

/* What is too old goes, when an hour begins. */
static int hour_open(struct state *state, int64_t generation, int64_t user, int64_t hour,
		     struct fault *reterr)
{
	int64_t n = 0;
	int r = state_integer(state, &n, reterr,
			      "SELECT count(*) FROM cost WHERE generation = ? AND user = ? AND hour = ?",
			      "iii", generation, user, hour);

	if (r < 0 || n)
		return r;
	r = state_do(state, reterr, "INSERT INTO cost(generation, user, hour) VALUES(?, ?, ?)", "iii",
		     generation, user, hour);
	return r < 0 ? r :
		       state_do(
			       state, reterr,
			       "DELETE FROM cost WHERE generation = ?1 AND user = ?2 AND hour NOT IN (SELECT "
			       "hour FROM cost WHERE generation = ?1 AND user = ?2 ORDER BY hour DESC LIMIT "
			       "?3)",
			       "iii", generation, user, (int64_t)COST_KEPT_HOURS);
}

int cost_add_samples(struct state *state, int64_t generation, const struct sample_module *from,
		     const struct sample_log *log, struct fault *reterr)
{
	int64_t user = tally_user(from->user), hour = hour_of(log->start_ns);
	double count = (double)from->total;
	int r;

	if (!(log->rate_hz > 0) || !from->total ||
	    (log->source != SAMPLE_SOURCE_TICK && log->source != SAMPLE_SOURCE_CPU_CLOCK))
		return 0;
	r = hour_open(state, generation, user, hour, reterr);
	if (r < 0)
		return r;
	return state_do(
		state, reterr,
		log->source == SAMPLE_SOURCE_TICK ?
			"UPDATE cost SET tick = tick + ?, tick_s = tick_s + ? WHERE generation = ? AND user "
			"= ? AND hour = ?" :
			"UPDATE cost SET clock = clock + ?, clock_s = clock_s + ? WHERE generation = ? AND "
			"user = ? AND hour = ?",
		"ddiii", count, count / log->rate_hz, generation, user, hour);
}

int cost_add_starts(struct state *state, int64_t generation, uint32_t user, uint64_t time_ns, uint64_t starts,
		    struct fault *reterr)
{
	int r = hour_open(state, generation, tally_user(user), hour_of(time_ns), reterr);

	return r < 0 ? r :
		       state_do(state, reterr,
				"UPDATE cost SET starts = starts + ? WHERE generation = ? AND user = ? AND "
				"hour = ?",
				"diii", (double)starts, generation, tally_user(user), hour_of(time_ns));
}

int cost_add_gap(struct state *state, uint32_t user, uint64_t time_ns, struct fault *reterr)
{
	int64_t hour = hour_of(time_ns);
	int r = state_do(state, reterr, "INSERT OR IGNORE INTO cost_gap(user, hour) VALUES(?, ?)", "ii",
			 tally_user(user), hour);

	return r < 0 ? r :
		       state_do(state, reterr,
				"DELETE FROM cost_gap WHERE user = ?1 AND hour NOT IN (SELECT hour FROM "
				"cost_gap WHERE user = ?1 ORDER BY hour DESC LIMIT ?2)",
				"ii", tally_user(user), (int64_t)COST_KEPT_HOURS);
}

struct hours {
	struct cost_hour *rows; /* owned */
	size_t n, capacity;
};

static void hours_done(struct hours *hours)
{
	free(hours->rows);
}

static int hours_read(struct state *state, int64_t generation, int64_t since, const char *sql,
		      struct hours *ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr, sql, "ii", generation, since);

	while (r == 0 && (r = state_step(state, statement, reterr)) == 1) {
		if (ret->n == ret->capacity) {
			struct cost_hour *more;

			ret->capacity = MAX(2 * ret->capacity, (size_t)64);
			more = reallocarray(ret->rows, ret->capacity, sizeof(*more));
			if (!more)
				return fault_errno(reterr, -ENOMEM, "hours of use");
			ret->rows = more;
		}
		ret->rows[ret->n++] = (struct cost_hour){ .user = sqlite3_column_int64(statement, 0),
							  .starts = sqlite3_column_double(statement, 1),
							  .samples = sqlite3_column_double(statement, 2),
							  .cpu_s = sqlite3_column_double(statement, 3) };
		r = 0;
	}
	return r;
}

/* Hours after that of the first start that was told, but those with gaps. */
#define HOURS(SAMPLES, SECONDS)                                                                            \
	"SELECT user, starts, " SAMPLES ", " SECONDS " FROM cost c WHERE generation = ?1 AND hour > "      \
	"(SELECT min(hour) FROM cost WHERE generation = ?1 AND starts > 0 AND hour >= ?2) AND NOT EXISTS " \
	"(SELECT 1 "                                                                                       \
	"FROM cost_gap g WHERE g.user = c.user AND g.hour = c.hour) ORDER BY user, hour"

int cost_measure(struct state *state, int64_t shipped, int64_t made, int64_t since_ns, struct cost_gain *ret,
		 int64_t *retrunners, struct fault *reterr)
{
	const int64_t since = hour_of((uint64_t)MAX(since_ns, (int64_t)0));
	static const char *const clocks[] = { HOURS("tick", "tick_s"), HOURS("clock", "clock_s") };
	int r = state_integer(
		state, retrunners, reterr,
		"SELECT count(DISTINCT user) FROM cost WHERE generation = ? AND starts > 0 AND hour >= ?",
		"ii", made, since);

	*ret = (struct cost_gain){ 0 };
	/* A machine has one clock that always runs; where it is the tick, the other one only comes for moments. */
	for (size_t i = 0; r == 0 && !ret->n_users && i < ARRAY_SIZE(clocks); i++) {
		_clean_(hours_done) struct hours before = { 0 }, after = { 0 };

		r = hours_read(state, shipped, 0, clocks[i], &before, reterr);
		if (r == 0)
			r = hours_read(state, made, since, clocks[i], &after, reterr);
		if (r == 0)
			*ret = cost_compare(before.rows, before.n, after.rows, after.n);
	}
	return r;
}
