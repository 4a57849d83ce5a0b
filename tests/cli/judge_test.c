/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/tune/judge.h"

#include <math.h>
#include <stdio.h>

#include "tests/test.h"

#define ROUNDS 400
#define MEMBERS 8

static const struct judge_options options = { .error = 0.05, .least = 0.005 };

/* Rounds of n members with true costs @costs, on a machine whose speed wanders and whose noise has no mean. */
struct simulation {
	struct rounds rounds;
	struct rounds_member members[MEMBERS];
	struct judged judged[MEMBERS];
	double cpu_s[MEMBERS][ROUNDS];
	size_t n_runs;
	struct stats_random random;
	double speed;
};

static double uniform(struct stats_random *random)
{
	return (double)(stats_random_next(random) >> 11) / 9007199254740992.0;
}

static void begin(struct simulation *s, size_t n, uint64_t seed)
{
	static const char *const names[] = {
		"shipped", "one", "two", "three", "four", "five", "six", "seven"
	};

	*s = (struct simulation){ .random = { seed | 1 }, .speed = 1 };
	for (size_t i = 0; i < n; i++)
		s->members[i] = (struct rounds_member){ .name = names[i], .cpu_s = s->cpu_s[i] };
	s->rounds = (struct rounds){ .members = s->members, .n = n, .capacity = ROUNDS };
}

/* Until it is settled; returns the best. */
static size_t settle(struct simulation *s, const double *costs, size_t most, bool *retsettled)
{
	size_t best = 0;
	int r = 0;

	while (r == 0 && s->rounds.n_done < most) {
		s->speed *= exp(0.05 * (uniform(&s->random) - 0.5));
		for (size_t i = 0; i < s->rounds.n; i++) {
			bool runs = !s->members[i].out[0] && !s->members[i].rests;

			s->n_runs += runs;
			s->cpu_s[i][s->rounds.n_done] =
				!runs ? NAN :
					costs[i] * s->speed *
						exp(0.005 *
						    tan(3.14159265358979 * (uniform(&s->random) - 0.5)));
		}
		s->rounds.n_done++;
		r = judge_look(&s->rounds, &options, s->judged, &best);
		CHECK(r >= 0);
	}
	*retsettled = r == 1;
	return best;
}

TEST(the_best_is_found_and_what_is_slower_is_dropped)
{
	const double costs[] = { 1, 0.9, 1.1, 0.906 };
	struct simulation s;
	bool settled;

	begin(&s, 4, 11);
	CHECK_INT(settle(&s, costs, ROUNDS, &settled), 1);
	CHECK(settled && s.judged[1].is_better && s.rounds.n_done < 100);
	CHECK_STR(s.members[2].out, "slower");
	CHECK_STR(s.members[3].out, "no better than one");
	CHECK(s.judged[2].is_dropped && s.judged[3].is_dropped && !s.judged[1].is_dropped);
	CHECK(s.judged[1].ratio.high < 1 && s.judged[1].ratio.low > 0.8);
	CHECK(s.judged[2].n < s.judged[1].n);
}

TEST(when_all_are_slower_as_shipped_stays)
{
	const double costs[] = { 1, 1.02, 1.05, 1.2 };
	struct simulation s;
	bool settled;

	begin(&s, 4, 12);
	CHECK_INT(settle(&s, costs, ROUNDS, &settled), 0);
	CHECK(settled && s.members[1].out[0] && s.members[2].out[0] && s.members[3].out[0]);
}

TEST(a_few_rounds_prove_nothing)
{
	const double costs[] = { 1, 0.5, 0.5, 0.5 };
	struct simulation s;
	bool settled;

	begin(&s, 4, 13);
	CHECK_INT(settle(&s, costs, 6, &settled), 0);
	CHECK(!settled && !s.judged[1].is_better && isinf(s.judged[1].ratio.high));
}

/* One that failed has no part in it, and does not keep it from being settled. */
TEST(who_failed_is_not_waited_for)
{
	const double costs[] = { 1, 0.9, 1.1, 0.1 };
	struct simulation s;
	bool settled;

	begin(&s, 4, 14);
	snprintf(s.members[3].out, sizeof(s.members[3].out), "ends with exit status 1, not exit status 0");
	CHECK_INT(settle(&s, costs, ROUNDS, &settled), 1);
	CHECK(settled && !s.judged[3].is_dropped && s.judged[3].n == 0);
}

/* Most runs are of those that may win: 12 rounds of all eight would be 96. */
TEST(who_is_behind_rests)
{
	const double costs[] = { 1, 0.98, 0.97, 0.9, 0.96, 0.99, 1.02, 0.95 };
	struct simulation s;
	bool settled;

	begin(&s, 8, 15);
	CHECK_INT(settle(&s, costs, 4, &settled), 0);
	CHECK_INT(s.n_runs, 32);
	CHECK_INT(settle(&s, costs, 8, &settled), 0);
	CHECK_INT(s.n_runs, 32 + 4 * 5);
	CHECK(s.members[6].rests && !s.members[3].rests && !s.members[7].rests);
	CHECK_INT(settle(&s, costs, 16, &settled), 3);
	CHECK(s.judged[3].is_better && !settled);
	CHECK_INT(s.n_runs, 32 + 4 * 5 + 8 * 3);
	CHECK(s.judged[6].n == 4 && s.judged[3].n == 16);
	/* Who rests is not out: it is over only when all are proven to be no better. */
	CHECK_INT(settle(&s, costs, ROUNDS, &settled), 3);
	CHECK(settled && s.judged[6].n > 4);
	CHECK(s.judged[6].is_dropped);
}

/* Four rounds may have been luck. */
TEST(who_rests_comes_back_when_others_fall_behind)
{
	const double first[] = { 1, 0.9, 0.91, 0.95 }, later[] = { 1, 1.1, 1.1, 0.95 };
	struct simulation s;
	bool settled;

	begin(&s, 4, 16);
	settle(&s, first, 4, &settled);
	CHECK(s.members[3].rests && !s.members[1].rests && !s.members[2].rests);
	CHECK_INT(settle(&s, later, ROUNDS, &settled), 3);
	CHECK(s.judged[3].is_better && s.judged[3].n > 4);
}

/* How often, of 400 times in which all of @n members cost the same, one is called better in @most rounds. */
static unsigned wrong_of_400(size_t n, size_t most, uint64_t seed)
{
	static const double costs[MEMBERS] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	unsigned wrong = 0;

	for (uint64_t i = 1; i <= 400; i++) {
		struct simulation s;
		bool settled;

		begin(&s, n, i * seed);
		wrong += settle(&s, costs, most, &settled) != 0;
	}
	return wrong;
}

/* The promise: of 400 times in which three candidates cost exactly as much as shipped, at most one in twenty is called better. */
TEST(what_is_not_better_is_seldom_called_so)
{
	CHECK(wrong_of_400(4, 60, 977) <= 20);
}

/* Likewise when seven race, and who is lucky at first goes on. */
TEST(who_is_lucky_at_first_is_not_called_better_either)
{
	CHECK(wrong_of_400(8, 100, 1009) <= 20);
}

TEST_MAIN()
