/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/clock/budget.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "monitor/machine/perf_event.h"

#define PROBE_PERIOD_NS 100000u
#define PROBE_NS 80000000u
#define HOLE_MIN_NS 400u   /* shorter: the loop itself */
#define HOLE_MAX_NS 90000u /* longer: another task ran, or the hypervisor took the CPU */
#define MAX_HOLES 4096u
#define MAX_BUDGET 0.1
#define AIM 0.9	       /* of the budget */
#define TICK_PART 0.6  /* the same */
#define LEAST_PART 0.1 /* for sampling, whatever the monitor itself takes */
#define CREDIT_S 3600.0
#define BURST_MIN_HZ 50.0
#define GUESS_INTERRUPT_NS 5000.0

int budget_parse(const char *text, double *ret, struct fault *reterr)
{
	char *end;
	double value = strtod(text, &end);
	bool is_percent;

	end += strspn(end, " \t");
	is_percent = *end == '%';
	end += is_percent;
	end += strspn(end, " \t");
	if (is_percent)
		value /= 100;
	if (end == text || *end || !(value > 0 && value <= MAX_BUDGET))
		return fault_set(reterr, -EINVAL,
				 "overhead_budget = %s: give a share of CPU time such as "
				 "0.1 %%, at most 10 %%",
				 text);
	*ret = value;
	return 0;
}

static int number_compare(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

double budget_median(double *values, unsigned n)
{
	if (!n)
		return 0;
	qsort(values, n, sizeof(*values), number_compare);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Holes in a loop that does nothing but read the clock. */
static unsigned holes(double *ret)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC), last = start;
	unsigned n = 0;

	while (last - start < PROBE_NS && n < MAX_HOLES) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if (now - last >= HOLE_MIN_NS && now - last <= HOLE_MAX_NS)
			ret[n++] = (double)(now - last);
		last = now;
	}
	return n;
}

static int probe(int cpu, double *values, double *ret)
{
	struct perf_options options = { .clock = PERF_CLOCK_CPU, .period = PROBE_PERIOD_NS };
	struct perf_event_attr attr;
	_clean_(fd_closep) int fd = -1;

	perf_attr_fill(&options, &attr);
	fd = perf_event_open_fd(&attr, -1, cpu, 0);
	if (fd == -EACCES || fd == -EPERM) {
		/* Without privilege: an event of this process alone, which costs the same. */
		options.exclude_kernel = true;
		perf_attr_fill(&options, &attr);
		fd = perf_event_open_fd(&attr, 0, cpu, 0);
	}
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	*ret = budget_median(values, holes(values));
	return 0;
}

int budget_measure(double *retinterrupt_ns, struct fault *reterr)
{
	_clean_(freep) double *values = calloc(MAX_HOLES, sizeof(*values));
	cpu_set_t before, one;
	int cpu = sched_getcpu(), r;

	if (!values || cpu < 0 || sched_getaffinity(0, sizeof(before), &before) < 0)
		return fault_errno(reterr, -ENOMEM, "cannot measure what an interrupt costs");
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		return fault_errno(reterr, -errno, "cannot stay on one CPU");
	r = probe(cpu, values, retinterrupt_ns);
	sched_setaffinity(0, sizeof(before), &before);
	if (r < 0)
		return perf_event_refusal(r, PERF_CLOCK_CPU, reterr);
	if (*retinterrupt_ns <= 0)
		*retinterrupt_ns = GUESS_INTERRUPT_NS; /* the machine was too busy to tell */
	return 0;
}

struct budget_rates budget_rates(double budget, const struct budget_cost *cost, double tick_hz)
{
	double event_ns = cost->interrupt_ns + cost->clock_ns, left = budget * AIM - cost->own;
	double tick_room = MAX(MIN(left, budget * TICK_PART), budget * LEAST_PART);
	double tick_share = tick_hz * cost->tick_ns / 1e9;
	struct budget_rates rates = { .tick_divisor = 1 };

	/* The smallest divisor that keeps the tick in its part. */
	if (tick_share > tick_room)
		rates.tick_divisor = (unsigned)(tick_share / tick_room) + 1;
	rates.tick_hz = tick_hz / rates.tick_divisor;
	rates.tick_share = rates.tick_hz * cost->tick_ns / 1e9;
	left -= rates.tick_share;
	if (event_ns > 0 && left > 0)
		rates.reference_hz = MIN(left * 1e9 / event_ns, BUDGET_REFERENCE_HZ);
	if (rates.reference_hz < BUDGET_REFERENCE_MIN_HZ)
		rates.reference_hz = 0;
	rates.reference_share = rates.reference_hz * event_ns / 1e9;
	rates.total_share = rates.tick_share + rates.reference_share + cost->own;
	return rates;
}

double budget_clock_hz(double budget, const struct budget_cost *cost, double max_hz)
{
	double event_ns = cost->interrupt_ns + cost->clock_ns;
	double left = MAX(budget - cost->own, budget / 4);

	return event_ns > 0 ? MAX(MIN(left * 1e9 / event_ns, max_hz), 1.0) : max_hz;
}

void budget_save(struct budget_credit *credit, double budget, unsigned n_cpus, double elapsed_s,
		 double spent_s)
{
	double most = budget * n_cpus * CREDIT_S;

	credit->seconds += budget * n_cpus * elapsed_s - spent_s;
	credit->seconds = MIN(MAX(credit->seconds, -most), most);
}

double budget_buy(struct budget_credit *credit, const struct budget_cost *cost, double hz, double seconds,
		  unsigned n_cpus)
{
	double event_s = (cost->interrupt_ns + cost->clock_ns) / 1e9;
	double price = hz * seconds * n_cpus * event_s;

	if (price > credit->seconds) {
		hz = MAX(credit->seconds, 0.0) / (seconds * n_cpus * event_s);
		price = credit->seconds;
	}
	if (hz < BURST_MIN_HZ)
		return 0;
	credit->seconds -= price;
	return hz;
}
