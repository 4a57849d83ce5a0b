/* SPDX-License-Identifier: Apache-2.0 */

/* Step 3 of monitor.h: what the budget buys: rates of the clocks, the next interval, bursts. */

#include <string.h>

#include "base/log.h"
#include "base/power.h"
#include "monitor/monitor_state.h"
#include "monitor/source_kind.h"

#define MIN_INTERVAL_NS 100000000u
#define FILL_HIGH 0.5
#define FILL_LOW 0.2
#define POWER_SUPPLIES "/sys/class/power_supply"

void monitor_rates_set(struct monitor *monitor)
{
	struct monitor_status *status = &monitor->status;
	double reference_hz;
	int r;

	if (!monitor->source.sampler)
		return;
	status->on_battery = pace_on_battery(POWER_SUPPLIES);
	status->spares = power_is_saved("") || power_is_hot("");
	if (!source_kind_of(monitor->source.found.kind)->is_tick) {
		if (monitor->settings->rate_hz <= 0 &&
		    source_kind_of(monitor->source.found.kind)->is_cpu_clock)
			status->clock_hz = budget_clock_hz(monitor->settings->budget, &status->cost,
							   MONITOR_CLOCK_MAX_HZ);
		r = pace_set(&monitor->pace, monitor->source.sampler, status->clock_hz, false);
		status->rates.total_share =
			status->clock_hz * (status->cost.interrupt_ns + status->cost.clock_ns) / 1e9 +
			status->cost.own;
	} else {
		status->rates = budget_rates(monitor->settings->budget, &status->cost, status->tick_hz);
		sampler_set_tick_divisor(monitor->source.sampler, status->rates.tick_divisor);
		reference_hz =
			*monitor->source.found.reference_reason || status->on_battery || status->spares ?
				0 :
				status->rates.reference_hz;
		r = *monitor->source.found.reference_reason ?
			    0 :
			    pace_set(&monitor->pace, monitor->source.sampler, reference_hz, true);
		monitor->reference_ran = reference_hz > 0 && r == 0;
	}
	if (r < 0)
		log_warning("the clock of a CPU cannot be set: %s", strerror(-r));
	status->n_cpus = monitor->pace.online.n;
	status->n_idle_cpus = monitor->pace.n_paused;
	status->n_reopened = monitor->pace.n_reopened;
}

void monitor_interval_adapt(struct monitor *monitor, double fill)
{
	uint64_t longest = monitor->settings->interval_s * 1000000000u;

	if (fill > FILL_HIGH)
		monitor->interval_ns = MAX(monitor->interval_ns / 2, MIN_INTERVAL_NS);
	else if (fill < FILL_LOW)
		monitor->interval_ns = MIN(monitor->interval_ns * 2, longest);
	monitor->status.interval_s = (double)monitor->interval_ns / 1e9;
}

void monitor_spending_account(struct monitor *monitor, double elapsed_s)
{
	struct monitor_status *status = &monitor->status;
	double used = clock_s(CLOCK_PROCESS_CPUTIME_ID) - monitor->used_cpu_s, share;

	monitor->used_cpu_s += used;
	share = elapsed_s > 0 ? used / elapsed_s / MAX(status->n_cpus, 1u) : 0;
	/* The first drains read the kernel's symbol table and every running module; later ones do not. */
	if (status->n_cycles > 2)
		status->cost.own = status->cost.own * 0.8 + share * 0.2;
	budget_save(&monitor->credit, monitor->settings->budget, status->n_cpus, elapsed_s,
		    status->rates.total_share * elapsed_s * status->n_cpus);
	status->credit_s = monitor->credit.seconds;
}

/* --- bursts --------------------------------------------------------------------------------------- */

uint64_t monitor_burst_drain_ns(const struct monitor *monitor)
{
	double seconds = monitor->source.capacity[monitor->burst.table] * FILL_HIGH / monitor->burst.rate_hz;

	return MAX((uint64_t)(MIN(seconds, 5.0) * 1e9), MIN_INTERVAL_NS);
}

double monitor_burst_buy(struct monitor *monitor, const struct control_burst *request)
{
	struct monitor_status *status = &monitor->status;
	bool has_reference = source_kind_of(monitor->source.found.kind)->is_tick;
	double hz;

	if (!monitor->source.sampler || monitor->burst.is_on ||
	    (has_reference && *monitor->source.found.reference_reason &&
	     source_clock_is_denied(monitor->settings))) {
		log_warning("a burst was asked for, but cannot be had now");
		return 0;
	}
	hz = budget_buy(&monitor->credit, &status->cost, request->rate_hz, request->seconds, status->n_cpus);
	if (hz <= 0) {
		log_info("a burst at %.0f Hz was asked for, but the budget has only %.3f CPU seconds left",
			 request->rate_hz, monitor->credit.seconds);
		return 0;
	}
	return hz;
}

void monitor_burst_begin(struct monitor *monitor, const struct control_burst *request, double hz,
			 uint64_t bought_ns)
{
	bool has_reference = source_kind_of(monitor->source.found.kind)->is_tick;

	monitor->burst.table = has_reference ? SAMPLER_REFERENCE : SAMPLER_MAIN;
	monitor->burst.is_on = monitor->status.is_bursting = true;
	monitor->burst.rate_hz = hz;
	monitor->burst.start_ns = clock_ns(CLOCK_MONOTONIC);
	monitor->burst.realtime_ns = clock_ns(CLOCK_REALTIME);
	monitor->burst.end_ns = bought_ns + (uint64_t)(request->seconds * 1e9);
	monitor->reference_ran = false;
	pace_set(&monitor->pace, monitor->source.sampler, hz, false);
	monitor->next_ns = MIN(monitor->next_ns, bought_ns + monitor_burst_drain_ns(monitor));
	monitor->status.n_bursts++;
	log_info("burst: %.0f Hz for %.1f s%s%s", hz, request->seconds, request->module ? ", for " : "",
		 request->module ? request->module : "");
}

int monitor_burst_end(struct monitor *monitor, uint64_t now, struct fault *reterr)
{
	struct collector_head head = {
		.source = SAMPLE_SOURCE_CPU_CLOCK,
		.rate_hz = monitor->burst.rate_hz,
		.start_ns = monitor->burst.realtime_ns,
		.duration_ns = now - monitor->burst.start_ns,
		.tables = 1u << monitor->burst.table,
	};

	monitor->burst.is_on = monitor->status.is_bursting = false;
	if (monitor->burst.table == SAMPLER_MAIN) {
		monitor->start_ns = clock_ns(CLOCK_REALTIME);
		monitor->cycle_ns = now;
	}
	return monitor_make_log(monitor, &head, reterr);
}
