/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The clock of this machine is not touched: clock_gettime() here adds what the test says to each clock. A machine
 * that was suspended has lost CLOCK_MONOTONIC alone.
 */

#define _GNU_SOURCE
#include "manager/keep/clock_step.h"

#include <time.h>

#include "manager/act/watch.h"
#include "tests/manager/fixture.h"

#define YEAR_S (365 * 86400ll)
#define YEAR_NS (YEAR_S * 1000000000)

static int64_t realtime_s, monotonic_s, boottime_s;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, clock, ret);

	if (clock == CLOCK_REALTIME)
		ret->tv_sec += realtime_s;
	else if (clock == CLOCK_MONOTONIC)
		ret->tv_sec += monotonic_s;
	else if (clock == CLOCK_BOOTTIME)
		ret->tv_sec += boottime_s;
	return r;
}

static struct fixture f;
static struct manager_clock ticks;

static void setup(void)
{
	realtime_s = monotonic_s = boottime_s = 0;
	fixture_make(&f);
	fixture_install(&f, "shipped");
	fixture_open(&f);
	fixture_sample(&f, "shipped", 1000);
	ticks = (struct manager_clock){ .tick_ns = manager_monotonic_ns() };
}

static void teardown(void)
{
	realtime_s = monotonic_s = boottime_s = 0;
	fixture_done(&f);
}

static void reopen(void)
{
	manager_free(TAKE(f.m));
	fixture_open(&f);
	ticks = (struct manager_clock){ .tick_ns = manager_monotonic_ns() };
}

static void sql(const char *text)
{
	if (state_do(f.m->state, &f.fault, text, "") < 0)
		FAIL("%s", f.fault.text);
}

static void pass(int64_t seconds)
{
	realtime_s += seconds;
	monotonic_s += seconds;
	boottime_s += seconds;
}

static void tick(void)
{
	manager_tick(f.m, &ticks);
}

/* A module that is left alone for its crashes, files that wait, a shipped file that stands nowhere any more. */
static void keep_things(void)
{
	sql("DELETE FROM cost");
	sql("INSERT INTO cost_gap VALUES(0, 480000)");
	sql("UPDATE module SET condemned = 'it crashed', condemned_ns = last_ns");
	sql("INSERT INTO module(id, key, kind, path, carries, first_ns, last_ns) SELECT 2, "
	    "'deadbeef00112233', 0, '', "
	    "1, first_ns, last_ns FROM module WHERE id = 1");
	sql("INSERT INTO cost SELECT id, 0, 480000, 5, 1, 1, 1, 1 FROM generation WHERE number = 0 AND "
	    "module = 1");
	sql("INSERT INTO cost SELECT id, 0, 480001, 6, 1, 1, 1, 1 FROM generation WHERE number = 0 AND "
	    "module = 1");
}

static void all_is_kept(void)
{
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM module WHERE condemned IS NOT NULL"), 1);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM module WHERE id = 2"), 1);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM cost"), 2);
}

static int64_t now_minus(const char *sql_of_time)
{
	return journal_now_ns() - number_of(f.m, sql_of_time);
}

TEST(a_clock_that_is_set_forward_ends_nothing)
{
	setup();
	keep_things();
	realtime_s = YEAR_S;
	ticks.housekeeping_ns = 0;
	tick();
	all_is_kept();
	CHECK(now_minus("SELECT condemned_ns FROM module WHERE id = 1") < 600000000000);
	CHECK_INT(number_of(f.m, "SELECT min(hour) FROM cost"), 480000 + YEAR_S / 3600);
	CHECK_INT(number_of(f.m, "SELECT starts FROM cost ORDER BY hour DESC LIMIT 1"), 6);
	CHECK_INT(number_of(f.m, "SELECT hour FROM cost_gap"), 480000 + YEAR_S / 3600);
	/* The time it takes passes as ever. */
	pass(31 * 86400);
	tick();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM module WHERE condemned IS NOT NULL"), 0);
	teardown();
}

TEST(a_clock_that_is_set_back_holds_up_nothing)
{
	setup();
	keep_things();
	realtime_s = -YEAR_S;
	tick();
	all_is_kept();
	CHECK(now_minus("SELECT condemned_ns FROM module WHERE id = 1") >= 0);
	CHECK(now_minus("SELECT max(time_ns) FROM event") >= 0);
	pass(31 * 86400);
	tick();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM module WHERE condemned IS NOT NULL"), 0);
	teardown();
}

TEST(there_and_back_is_as_before)
{
	int64_t condemned_ns, event_ns;

	setup();
	keep_things();
	condemned_ns = number_of(f.m, "SELECT condemned_ns FROM module WHERE id = 1");
	event_ns = number_of(f.m, "SELECT min(time_ns) FROM event");
	realtime_s = YEAR_S;
	tick();
	realtime_s = 0;
	tick();
	all_is_kept();
	CHECK(llabs(number_of(f.m, "SELECT condemned_ns FROM module WHERE id = 1") - condemned_ns) <
	      1000000000);
	CHECK(llabs(number_of(f.m, "SELECT min(time_ns) FROM event") - event_ns) < 1000000000);
	CHECK_INT(number_of(f.m, "SELECT min(hour) FROM cost"), 480000);
	teardown();
}

TEST(a_clock_that_went_back_while_morphd_was_away)
{
	setup();
	keep_things();
	realtime_s = -YEAR_S;
	reopen();
	all_is_kept();
	CHECK(now_minus("SELECT max(time_ns) FROM event") >= 0);
	CHECK(now_minus("SELECT condemned_ns FROM module WHERE id = 1") < 600000000000);
	teardown();
}

TEST(suspend_is_not_a_clock_that_was_set)
{
	int64_t condemned_ns;

	setup();
	keep_things();
	sql("UPDATE target SET watch_left_s = 7200, generation = 0");
	condemned_ns = number_of(f.m, "SELECT condemned_ns FROM module WHERE id = 1");
	realtime_s = boottime_s = 10 * 86400;
	tick();
	CHECK_INT(number_of(f.m, "SELECT condemned_ns FROM module WHERE id = 1"), condemned_ns);
	/* What is watched must have run: a machine that sleeps watches nothing. */
	CHECK_INT(number_of(f.m, "SELECT watch_left_s FROM target"), 7200);
	realtime_s = boottime_s = 31 * 86400;
	tick();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM module WHERE condemned IS NOT NULL"), 0);
	teardown();
}

TEST(samples_that_come_before_the_next_look_find_the_clock_set)
{
	setup();
	sql("INSERT INTO module(id, key, kind, path, carries, first_ns, last_ns) SELECT 3, 'file:1:2:3:4', "
	    "0, '', 3, "
	    "first_ns, last_ns FROM module WHERE id = 1");
	sql("INSERT INTO pending_file SELECT 3, 1, 2, 3, 4, 0, last_ns FROM module WHERE id = 1");
	realtime_s = YEAR_S;
	CHECK(intake_scan(f.m, 16, &f.fault) >= 0);
	CHECK(now_minus("SELECT last_ns FROM pending_file") < 600000000000);
	teardown();
}

TEST(corrections_of_seconds_move_nothing)
{
	int64_t ns;

	setup();
	ns = number_of(f.m, "SELECT last_ns FROM module WHERE id = 1");
	for (int i = 0; i < 5; i++) {
		realtime_s += 50;
		tick();
	}
	CHECK_INT(number_of(f.m, "SELECT last_ns FROM module WHERE id = 1"), ns);
	teardown();
}

TEST(every_time_moves_and_nothing_else)
{
	static const char *const still[] = { "target.mtime_ns",		 "target.changed_ns",
					     "verified_file.changed_ns", "pending_file.changed_ns",
					     "module.activity_ns",	 "module.age_ns" };
	_clean_(statement_freep) sqlite3_stmt *columns = NULL;
	unsigned n_still = 0, n_moved = 0;

	setup();
	/* A row for the tables that have none yet; constraints are not the matter here. */
	sql("INSERT INTO pin VALUES('/p', '', 5)");
	sql("INSERT INTO refusal VALUES('/p', '', 5)");
	sql("UPDATE module SET edit_ns = 5, condemned_ns = 5, verdict_ns = 5, activity_ns = 5, age_ns = 5");
	sql("UPDATE target SET activated_ns = 5");
	CHECK_INT(
		state_prepare(f.m->state, &columns, NULL,
			      "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE "
			      "t.type = 'table' AND c.name LIKE '%ns' AND c.type = 'INTEGER'",
			      ""),
		0);
	while (state_step(f.m->state, columns, NULL) == 1) {
		char name[128], query[256];
		int64_t before, after;
		bool moves = true;

		snprintf(name, sizeof(name), "%s.%s", sqlite3_column_text(columns, 0),
			 sqlite3_column_text(columns, 1));
		snprintf(query, sizeof(query), "SELECT max(%s) FROM %s WHERE %s <> 0",
			 sqlite3_column_text(columns, 1), sqlite3_column_text(columns, 0),
			 sqlite3_column_text(columns, 1));
		for (size_t i = 0; i < ARRAY_SIZE(still); i++)
			moves = moves && strcmp(still[i], name) != 0;
		before = number_of(f.m, query);
		CHECK_INT(clock_step_move(f.m->state, 1000, &f.fault), 0);
		after = number_of(f.m, query);
		if (before == -1)
			continue; /* no row: number_of() has nothing to tell */
		if (after - before != (moves ? 1000 : 0))
			FAIL("%s: by %lld", name, (long long)(after - before));
		n_moved += moves;
		n_still += !moves;
	}
	CHECK(n_moved >= 11 && n_still >= 5);
	teardown();
}

TEST_MAIN()
