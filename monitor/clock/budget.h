/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * budget.h - what sampling may cost, what it does cost here, and the rates that follow
 *
 * An interrupt costs between one and sixteen microseconds, depending on the machine (and on how many
 * hypervisors are below it); any fixed rate is therefore wrong somewhere. The configuration gives a
 * share of CPU time instead. Measured:
 *
 *	interrupt_ns	what a clock event costs whatever runs on that CPU, without our program: the median
 *			hole in a loop that reads the clock, while an event fires every 100 us
 *	tick_ns		our program, per sampled tick; it comes with an interrupt that is there anyway
 *	clock_ns	our program, per clock event
 *	own		CPU time of the monitor itself, per second and CPU
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

#define BUDGET_DEFAULT 0.001	    /* of each CPU */
#define BUDGET_REFERENCE_HZ 19.0    /* never more: it suffices, and is not in step with anything */
#define BUDGET_REFERENCE_MIN_HZ 1.0 /* below, it says nothing */

struct budget_cost {
	double interrupt_ns, tick_ns, clock_ns;
	double own; /* share of one CPU, divided by the number of CPUs */
};

struct budget_rates {
	unsigned tick_divisor;				 /* take every n-th tick */
	double tick_hz;					 /* so many are taken per busy CPU */
	double reference_hz;				 /* 0: it does not fit */
	double tick_share, reference_share, total_share; /* of CPU time, by this accounting */
};

/** budget_parse() - "0.1 %", "0.1%" or "0.001" into a share; -EINVAL unless above 0 and at most 10 % */
int budget_parse(const char *text, double *ret, struct fault *reterr);

/**
 * budget_measure() - interrupt_ns, by about 0.1 s of spinning on one CPU
 * Return: 0; -errno when no clock event can be opened.
 */
int budget_measure(double *retinterrupt_ns, struct fault *reterr);

/** budget_median() - of @n numbers, which are sorted; 0 for none */
double budget_median(double *values, unsigned n);

/**
 * budget_rates() - what fits: six tenths at most for the tick, the rest for the reference
 * A tenth is left for what the programs cannot time: being called, and called for timers that are not the
 * tick. What the monitor itself takes comes first; a busy one samples less.
 */
struct budget_rates budget_rates(double budget, const struct budget_cost *cost, double tick_hz);

/** budget_clock_hz() - the rate of a lone clock that fits, at most @max_hz */
double budget_clock_hz(double budget, const struct budget_cost *cost, double max_hz);

/** What was not spent, for bursts: CPU seconds, over all CPUs. */
struct budget_credit {
	double seconds;
};

/** budget_save() - @elapsed_s went by on @n_cpus and @spent_s CPU seconds were spent; an hour's worth is kept */
void budget_save(struct budget_credit *credit, double budget, unsigned n_cpus, double elapsed_s,
		 double spent_s);
/**
 * budget_buy() - pay for a burst of @seconds at @hz on @n_cpus
 * Return: the rate that can be paid (less than @hz when the credit is short; 0: nothing useful).
 */
double budget_buy(struct budget_credit *credit, const struct budget_cost *cost, double hz, double seconds,
		  unsigned n_cpus);
