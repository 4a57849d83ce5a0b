/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/count/tally.h"

#include <errno.h>

#include "tests/manager/fixture.h"

#define HALF_LIFE 1000 /* seconds */

static struct fixture f;
static struct module_row module;
static struct generation_row generation;

static void setup(void)
{
	struct generation_row row = { .build_id = (char *)"abcdabcdabcdabcd",
				      .digest = (char *)"",
				      .state = (char *)"shipped" };

	fixture_make(&f);
	fixture_open(&f);
	CHECK_INT(module_add(f.m->state, "abcdabcdabcdabcd", SAMPLE_MODULE_FILE, "/x", &row.module, &f.fault),
		  0);
	CHECK_INT(generation_add(f.m->state, &row, NULL, &f.fault), 0);
	CHECK_INT(module_get(f.m->state, row.module, &module, &f.fault), 0);
	CHECK_INT(generation_get(f.m->state, row.module, 0, &generation, &f.fault), 0);
}

static void teardown(void)
{
	module_row_done(&module);
	generation_row_done(&generation);
	fixture_done(&f);
}

/* A log that covers so many seconds, in which the module was seen. */
static void pass(uint64_t seconds)
{
	static int64_t serial;

	CHECK_INT(tally_advance(f.m->state, &module, seconds * 1000000000, ++serial, &f.fault), 0);
}

static void add(uint64_t offset, uint64_t count)
{
	struct sample_count counts[] = { { offset, count } };
	struct sample_module from = { .counts = counts, .n_counts = 1, .total = count };
	struct sample_log log = { .source = SAMPLE_SOURCE_TICK, .rate_hz = 250 };

	CHECK_INT(tally_add(f.m->state, &module, generation.id, &from, &log, HALF_LIFE, &f.fault), 0);
}

static uint64_t count_at(uint64_t offset)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	int r = tally_log(f.m->state, &module, &generation, HALF_LIFE, &log, &f.fault);

	if (r == -ENODATA)
		return 0;
	CHECK_INT(r, 0);
	CHECK_INT(sample_log_check(log, &f.fault), 0);
	for (size_t i = 0; i < log->modules[0].n_counts; i++)
		if (log->modules[0].counts[i].offset == offset)
			return log->modules[0].counts[i].count;
	return 0;
}

TEST(counts_add_up)
{
	setup();
	add(16, 100);
	add(16, 50);
	add(32, 7);
	CHECK_INT(module.samples, 157);
	CHECK_INT(count_at(16), 150);
	CHECK_INT(count_at(32), 7);
	CHECK_INT(count_at(48), 0);
	teardown();
}

TEST(after_a_half_life_of_activity_a_count_is_half)
{
	setup();
	add(16, 400);
	pass(HALF_LIFE / 2);
	CHECK_INT(count_at(16), 283); /* 400 / 2^0.5 */
	pass(HALF_LIFE / 2);
	add(32, 400);
	CHECK_INT(count_at(16), 200);
	CHECK_INT(count_at(32), 400);
	pass(2 * HALF_LIFE);
	CHECK_INT(count_at(16), 50);
	CHECK_INT(count_at(32), 100);
	CHECK_INT(module.samples, 800);
	teardown();
}

TEST(a_log_with_two_generations_is_one_stretch_of_time)
{
	setup();
	add(16, 400);
	CHECK_INT(tally_advance(f.m->state, &module, 500000000000, 1000, &f.fault), 0);
	CHECK_INT(tally_advance(f.m->state, &module, 500000000000, 1000, &f.fault), 0);
	CHECK_INT(module.activity_ns, 500000000000);
	CHECK_INT(count_at(16), 283);
	teardown();
}

TEST(the_calendar_ages_nothing)
{
	setup();
	add(16, 400);
	CHECK_INT(state_do(f.m->state, &f.fault, "UPDATE module SET last_ns = 0, first_ns = 0", ""), 0);
	CHECK_INT(count_at(16), 400);
	teardown();
}

TEST(weights_stay_finite_for_ever)
{
	setup();
	for (int i = 0; i < 300; i++) {
		pass(HALF_LIFE);
		add(16, 1000);
	}
	CHECK(count_at(16) >= 1998 && count_at(16) <= 2001); /* 1000 + 500 + 250 + ... */
	CHECK_INT(module.samples, 300 * 1000);
	CHECK_INT(number_of(f.m, "SELECT max(weight) < 1e25 FROM sample"), 1);
	teardown();
}

TEST(a_giant_log_or_a_broken_clock_does_not_break_anything)
{
	setup();
	add(16, 1ull << 53);
	for (int i = 0; i < 400; i++)
		pass(UINT64_MAX / 1000000000);
	add(16, 10);
	add(16, 10);
	CHECK_INT(count_at(16), 20);
	CHECK_INT(module.samples, (1ll << 53) + 20);
	teardown();
}

TEST(samples_that_aged_away_are_deleted)
{
	setup();
	add(16, 1);
	pass(70 * HALF_LIFE);
	add(32, 10);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM sample WHERE offset = 16"), 0);
	CHECK_INT(count_at(32), 10);
	teardown();
}

TEST(branches_are_kept_beside_samples)
{
	struct sample_branch branches[] = { { 16, 8, 5 } };
	struct sample_module from = { .branches = branches, .n_branches = 1, .total = 0 };
	struct sample_log log = { .source = SAMPLE_SOURCE_CYCLES, .rate_hz = 250 };
	_clean_(sample_log_freep) struct sample_log *out = NULL;

	setup();
	add(16, 9);
	CHECK_INT(tally_add(f.m->state, &module, generation.id, &from, &log, HALF_LIFE, &f.fault), 0);
	CHECK_INT(tally_log(f.m->state, &module, &generation, HALF_LIFE, &out, &f.fault), 0);
	CHECK_INT(out->modules[0].n_branches, 1);
	CHECK(out->modules[0].branches[0].to == 8 && out->modules[0].branches[0].count == 5);
	CHECK_INT(out->modules[0].total, 9);
	teardown();
}

TEST_MAIN()
