/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * monitor_state.h - what the parts of monitor.h share
 *
 * monitor.c opens, waits and goes through step 3; monitor_logs.c drains tables and writes logs; monitor_rates.c spends
 * the budget: rates, intervals, bursts. Nobody else includes this.
 */

#include "base/clock.h"
#include "monitor/clock/pace.h"
#include "monitor/control.h"
#include "monitor/monitor.h"
#include "monitor/outlet.h"
#include "monitor/record/collector.h"
#include "monitor/record/lives.h"
#include "monitor/source.h"

#define MONITOR_CLOCK_MAX_HZ 99.0 /* of a lone clock that nobody gave a rate */

/* A running mean of what one run of the program costs. */
struct monitor_mean {
	double sum, n;
};

struct monitor {
	const struct monitor_settings *settings; /* borrowed */
	struct monitor_status status;
	struct source source;

	struct finder *finder;
	struct collector *collector;
	struct lives *lives;
	struct pace pace;
	struct control control;
	struct outlet outlet;
	struct budget_credit credit;
	int epoll;

	struct monitor_mean means[SAMPLER_TABLES];
	uint64_t interval_ns, cycle_ns, next_ns; /* CLOCK_MONOTONIC */
	uint64_t start_ns;			 /* CLOCK_REALTIME of the log in the making */
	uint64_t urgent_ns;			 /* when events must be written, if before next_ns */
	uint64_t opened_ns, events_retry_ns;
	double used_cpu_s;
	bool reference_ran; /* all the interval */
	bool was_writable;

	struct {
		bool is_on;
		double rate_hz;
		uint64_t start_ns, end_ns, realtime_ns;
		enum sampler_table table;
	} burst;
};

/** monitor_on_event() - sampler_events()'s function: a file, a start or an end; @closure is the monitor */
void monitor_on_event(const struct sampler_event *event, size_t size, void *closure);

/**
 * monitor_drain() - a table's rows into the collector, what they cost into the status
 * @retfill: raised to how full the table was, 0 to 1
 */
int monitor_drain(struct monitor *monitor, enum sampler_table table, double elapsed_s, double *retfill,
		  struct fault *reterr);
/** monitor_make_log() - what the collector holds becomes a log with this @head, and is written */
int monitor_make_log(struct monitor *monitor, struct collector_head *head, struct fault *reterr);
/** monitor_main_log() - the same of everything sampled since the last one; @now: CLOCK_MONOTONIC */
int monitor_main_log(struct monitor *monitor, uint64_t now, struct fault *reterr);
/** monitor_write_log() - takes @log; what cannot be written now is kept (outlet.h), and is no error */
int monitor_write_log(struct monitor *monitor, struct sample_log *log, struct fault *reterr);

/** monitor_rates_set() - the clocks, to what budget, battery and settings allow from now on */
void monitor_rates_set(struct monitor *monitor);
/** monitor_interval_adapt() - shorter when a table was more than half full, longer when all were nearly empty */
void monitor_interval_adapt(struct monitor *monitor, double fill);
/** monitor_spending_account() - what the last @elapsed_s seconds cost, and what was saved of the budget */
void monitor_spending_account(struct monitor *monitor, double elapsed_s);

/** monitor_burst_buy() - the rate at which @request can be had, paid from what was saved; 0: not, and it was logged why */
double monitor_burst_buy(struct monitor *monitor, const struct control_burst *request);
/** monitor_burst_begin() - sample at @hz, which was bought at @bought_ns (CLOCK_MONOTONIC), after a cycle: what was sampled is another log's */
void monitor_burst_begin(struct monitor *monitor, const struct control_burst *request, double hz,
			 uint64_t bought_ns);
/** monitor_burst_end() - a log of its own; @now: CLOCK_MONOTONIC */
int monitor_burst_end(struct monitor *monitor, uint64_t now, struct fault *reterr);
/** monitor_burst_drain_ns() - how long its table takes to be half full */
uint64_t monitor_burst_drain_ns(const struct monitor *monitor);
