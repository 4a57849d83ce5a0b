/* SPDX-License-Identifier: Apache-2.0 */

/* Samples are drawn at random, but the same ones every time. */

#include "monitor/clock/agreement.h"

#include "tests/test.h"

static unsigned random_state = 12345;

static double uniform(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) / (double)(1u << 24);
}

static const struct agreement_clocks clocks = { 250, 19, false };

/* Samples that a clock of @hz has of work that uses the part @share of a CPU for 15 seconds. */
static uint64_t draw(double hz, double share)
{
	uint64_t k = 0;

	for (unsigned i = 0; i < (unsigned)(hz * 15); i++)
		k += uniform() < share;
	return k;
}

/* Rounds of one CPU's time: module 0 uses @share of it, which looks like @tick_share to the tick; module 1 the rest. */
static size_t rounds(struct agreement *agreement, unsigned n_rounds, double tick_share, double share)
{
	size_t marked = 0;

	for (unsigned i = 0; i < n_rounds; i++) {
		CHECK_INT(agreement_add(agreement, 0, draw(clocks.tick_hz, tick_share),
					draw(clocks.reference_hz, share)),
			  0);
		CHECK_INT(agreement_add(agreement, 1, draw(clocks.tick_hz, 1 - share),
					draw(clocks.reference_hz, 1 - share)),
			  0);
		marked += agreement_round(agreement, &clocks, 15);
	}
	return marked;
}

TEST(work_that_the_tick_never_sees_is_marked_within_a_minute)
{
	struct agreement agreement = { 0 };

	rounds(&agreement, 4, 0, 0.11);
	CHECK(agreement_is_synchronous(&agreement, 0));
	CHECK(!agreement_is_synchronous(&agreement, 1));
	agreement_done(&agreement);
}

TEST(work_that_the_tick_never_sees_is_marked_beside_nothing_else)
{
	struct agreement agreement = { 0 };

	/* As it was seen: 95 of the reference's samples, and 3 of the tick's. */
	for (unsigned i = 0; i < 3; i++) {
		CHECK_INT(agreement_add(&agreement, 0, 1, 32), 0);
		agreement_round(&agreement, &clocks, 5);
	}
	CHECK(agreement_is_synchronous(&agreement, 0));
	agreement_done(&agreement);
}

TEST(work_that_the_tick_always_sees_is_marked_too)
{
	struct agreement agreement = { 0 };

	rounds(&agreement, 4, 0.3, 0.02);
	CHECK(agreement_is_synchronous(&agreement, 0));
	CHECK(!agreement_is_synchronous(&agreement, 1));
	agreement_done(&agreement);
}

TEST(what_runs_where_the_reference_is_paused_is_not_marked)
{
	const struct agreement_clocks paused = { 250, 19, true };
	struct agreement agreement = { 0 };

	for (unsigned i = 0; i < 100; i++) {
		CHECK_INT(agreement_add(&agreement, 0, 75, 0), 0); /* 2 % of an idle CPU */
		CHECK_INT(agreement_add(&agreement, 1, 0, 75), 0);
		agreement_round(&agreement, &paused, 15);
	}
	CHECK(!agreement_is_synchronous(&agreement, 0));
	CHECK(agreement_is_synchronous(&agreement, 1)); /* but more than the tick saw is more */
	agreement_done(&agreement);
}

TEST(modules_that_agree_are_not_marked_in_a_day)
{
	struct agreement agreement = { 0 };

	for (double share = 0.0005; share < 0.6; share *= 3)
		CHECK_INT(rounds(&agreement, 24 * 60 * 4 / 6, share, share), 0);
	agreement_done(&agreement);
}

TEST(a_mark_goes_when_the_clocks_agree_again)
{
	struct agreement agreement = { 0 };

	rounds(&agreement, 10, 0, 0.2);
	CHECK(agreement_is_synchronous(&agreement, 0));
	rounds(&agreement, 400, 0.2, 0.2);
	CHECK(!agreement_is_synchronous(&agreement, 0));
	CHECK(!agreement_is_synchronous(&agreement, 12345));
	agreement_done(&agreement);
}

TEST_MAIN()
