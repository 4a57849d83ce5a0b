/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/clock/budget.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "monitor/clock/pace.h"
#include "tests/monitor/directory.h"

TEST(budgets_are_read_as_shares)
{
	struct fault fault;
	double budget;

	CHECK_INT(budget_parse("0.1 %", &budget, &fault), 0);
	CHECK(fabs(budget - 0.001) < 1e-12);
	CHECK_INT(budget_parse("0.002", &budget, &fault), 0);
	CHECK(fabs(budget - 0.002) < 1e-12);
	CHECK_INT(budget_parse("0", &budget, &fault), -EINVAL);
	CHECK_INT(budget_parse("50%", &budget, &fault), -EINVAL);
	CHECK_INT(budget_parse("much", &budget, &fault), -EINVAL);
	CHECK_INT(budget_parse("0.1 % or so", &budget, &fault), -EINVAL);
}

TEST(rates_never_cost_more_than_the_budget)
{
	for (double interrupt = 500; interrupt < 50000; interrupt *= 1.7)
		for (double program = 100; program < 20000; program *= 1.9)
			for (double hz = 100; hz <= 1000; hz += 150) {
				struct budget_cost cost = { interrupt, program, program, 0.0001 };
				struct budget_rates rates = budget_rates(0.001, &cost, hz);

				CHECK(rates.total_share <= 0.001 * 1.0001);
				CHECK(rates.tick_hz * rates.tick_divisor > hz * 0.999);
				CHECK(rates.reference_hz <= BUDGET_REFERENCE_HZ);
				cost.own = 0.0006;
				CHECK(budget_rates(0.001, &cost, hz).total_share <= 0.001 * 1.0001);
				CHECK(rates.reference_hz == 0 ||
				      rates.reference_hz >= BUDGET_REFERENCE_MIN_HZ);
			}
}

TEST(a_burst_is_paid_from_what_was_saved)
{
	struct budget_cost cost = { 10000, 0, 2000, 0 };
	struct budget_credit credit = { 0 };

	CHECK(budget_buy(&credit, &cost, 499, 5, 2) == 0);
	budget_save(&credit, 0.001, 2, 1000, 0.5); /* 1.5 s saved */
	CHECK(budget_buy(&credit, &cost, 499, 5, 2) == 499);
	CHECK(fabs(credit.seconds - (1.5 - 499 * 5 * 2 * 12e-6)) < 1e-9);
	budget_save(&credit, 0.001, 2, 1e9, 0);
	CHECK(credit.seconds <= 0.001 * 2 * 3600);
	CHECK(budget_buy(&credit, &cost, 20000, 60, 2) < 20000);
	CHECK(fabs(credit.seconds) < 1e-9);
}

TEST(what_an_interrupt_costs_is_plausible)
{
	struct fault fault;
	double ns;

	if (budget_measure(&ns, &fault) < 0)
		SKIP("%s", fault.text);
	CHECK(ns > 100 && ns < 90000);
}

TEST(drawn_periods_stay_within_a_quarter_and_average_out)
{
	struct pace pace;
	double sum = 0;

	CHECK_INT(pace_init(&pace, 1), 0);
	for (unsigned i = 0; i < 10000; i++) {
		double factor = pace_draw(&pace);

		CHECK(factor >= 0.75 && factor <= 1.25);
		sum += factor;
	}
	CHECK(fabs(sum / 10000 - 1) < 0.01);
	pace_done(&pace);
}

TEST(lines_of_proc_stat_give_busy_and_all)
{
	uint64_t busy, all;
	unsigned cpu;

	CHECK(pace_stat_parse("cpu3 10 1 5 100 20 2 3 4 0 0\n", &cpu, &busy, &all));
	CHECK_INT(cpu, 3);
	CHECK_INT(all, 145);
	CHECK_INT(busy, 25);
	CHECK(!pace_stat_parse("cpu  10 1 5 100 20 2 3 4 0 0\n", &cpu, &busy, &all));
	CHECK(!pace_stat_parse("intr 1 2 3\n", &cpu, &busy, &all));
}

TEST(a_machine_is_on_battery_when_no_mains_supply_is_online)
{
	fresh_directory();
	CHECK(!pace_on_battery(directory));
	mkdir(in("AC"), 0755);
	mkdir(in("BAT0"), 0755);
	put("AC/type", "Mains\n");
	put("AC/online", "1\n");
	put("BAT0/type", "Battery\n");
	CHECK(!pace_on_battery(directory));
	put("AC/online", "0\n");
	CHECK(pace_on_battery(directory));
	cleanup();
}

TEST_MAIN()
