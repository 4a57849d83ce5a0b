/* SPDX-License-Identifier: Apache-2.0 */

/* Whose time it was, by the hour: what logs say of it, how long it is kept, and how much of it one user can fill. */

#define _GNU_SOURCE
#include "manager/count/usage.h"

#include "base/clock.h"
#include "tests/attack.h"
#include "tests/manager/fixture.h"

static struct fixture f;

static void setup(void)
{
	fixture_make(&f);
	fixture_install(&f, "shipped");
	fixture_open(&f);
}

static struct sample_log *log_at(int64_t hours_ago)
{
	struct sample_log *log = sample_log_new();

	log->source = SAMPLE_SOURCE_TICK;
	log->rate_hz = 250;
	log->n_cpus = 1;
	log->start_ns = clock_ns(CLOCK_REALTIME) - (uint64_t)hours_ago * USAGE_HOUR_NS;
	log->duration_ns = 1000;
	return log;
}

static void owner_put(struct sample_log *log, const char *process, const char *unit, uint32_t user,
		      uint64_t n)
{
	CHECK_INT(owners_add(&log->owners, process, unit, user, n), 0);
	log->kernel += n;
}

static void take(struct sample_log *log, uint64_t days)
{
	CHECK_INT(state_begin(f.m->state, &f.fault), 0);
	if (usage_add(f.m->state, log, days, &f.fault) < 0)
		FAIL("%s", f.fault.text);
	CHECK_INT(state_commit(f.m->state, &f.fault), 0);
	sample_log_free(log);
}

static int64_t sum_of(const char *where)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(sum(samples), 0) FROM usage JOIN usage_name ON id = name WHERE %s", where);
	return number_of(f.m, sql);
}

TEST(logs_of_one_hour_add_up_and_what_has_no_owner_is_nobodys)
{
	struct sample_log *log;

	setup();
	for (unsigned i = 0; i < 3; i++) {
		log = log_at(2);
		owner_put(log, "nginx", "nginx.service", 33, 100);
		owner_put(log, "cc1", "user@1000.service", 1000, 50);
		log->user = 25;
		take(log, 31);
	}
	take(log_at(0), 31); /* nothing ran */
	CHECK_INT(sum_of("unit = 'nginx.service' AND user = 33"), 300);
	CHECK_INT(number_of(f.m, "SELECT sum(cpu_us) FROM usage JOIN usage_name ON id = name WHERE process = "
				 "'cc1'"),
		  150 * 4000);
	CHECK_INT(sum_of("process = '' AND user = -1"), 75);
	CHECK_INT(number_of(f.m, "SELECT count(DISTINCT hour) FROM usage"), 1);
	fixture_done(&f);
}

TEST(old_hours_go_when_a_new_one_begins_and_none_is_kept_of_the_future)
{
	struct sample_log *log;

	setup();
	for (int64_t ago = 24 * 12; ago >= 0; ago -= 12) {
		log = log_at(ago);
		owner_put(log, ago ? "old" : "new", "x.service", 0, 1);
		take(log, 7);
	}
	log = log_at(-24 * 365);
	owner_put(log, "future", "x.service", 0, 1);
	take(log, 7);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM usage"), 7 * 2 + 1);
	CHECK_INT(sum_of("process = 'future'"), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM usage_name"), 2);
	log = log_at(0);
	owner_put(log, "any", "x.service", 0, 1);
	take(log, 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM usage"), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM usage_name"), 0);
	fixture_done(&f);
}

TEST(names_beyond_a_users_share_count_without_a_name_and_others_keep_theirs)
{
	struct sample_log *log;

	setup();
	for (unsigned i = 0; i < 20; i++) {
		log = log_at(1);
		for (unsigned k = 0; k < 400; k++) {
			char name[32];

			snprintf(name, sizeof(name), "evil%u", i * 400 + k);
			owner_put(log, name, "user@4321.service", 4321, 1);
		}
		owner_put(log, "postgres", "postgresql.service", 101, 10);
		take(log, 31);
	}
	ATTACK("usage-one-user-fills-the-hour",
	       number_of(f.m, "SELECT count(*) FROM usage") == USAGE_OF_USER + 2);
	CHECK_INT(sum_of("user = 4321"), 20 * 400);
	CHECK_INT(sum_of("user = 4321 AND process = ''"), 20 * 400 - USAGE_OF_USER);
	ATTACK("usage-one-user-hides-another", sum_of("unit = 'postgresql.service'") == 200);
	fixture_done(&f);
}

TEST_MAIN()
