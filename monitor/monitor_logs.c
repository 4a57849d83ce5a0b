/* SPDX-License-Identifier: Apache-2.0 */

/* Step 3 of monitor.h: a table is drained, the law is checked, a log is made and goes to the outlet. */

#include <errno.h>

#include "base/log.h"
#include "monitor/monitor_state.h"
#include "monitor/source_kind.h"

#define HALVE_AFTER 4096.0 /* timed runs, so that old ones fade */

static void mean_add(struct monitor_mean *mean, double sum, double n)
{
	if (mean->n > HALVE_AFTER) {
		mean->sum /= 2;
		mean->n /= 2;
	}
	mean->sum += sum;
	mean->n += n;
}

static void drained_account(struct monitor *monitor, enum sampler_table table,
			    const struct sampler_drained *drained)
{
	const __u64 *n = drained->counters.n;
	struct monitor_status *status = &monitor->status;
	struct monitor_mean *mean = &monitor->means[table];
	bool is_clock = table == SAMPLER_REFERENCE || !source_kind_of(monitor->source.found.kind)->is_tick;

	mean_add(mean, (double)n[SAMPLER_TIMED_NS], (double)n[SAMPLER_TIMED]);
	if (mean->n >= 8)
		*(is_clock ? &status->cost.clock_ns : &status->cost.tick_ns) = mean->sum / mean->n;
	status->fired[table] += n[SAMPLER_FIRED];
	status->events_lost += n[SAMPLER_EVENTS_LOST];
	status->cache_hits += n[SAMPLER_CACHE_HITS];
}

int monitor_drain(struct monitor *monitor, enum sampler_table table, double elapsed_s, double *retfill,
		  struct fault *reterr)
{
	struct sampler_drained drained;
	int r = sampler_drain(monitor->source.sampler, table, &drained, reterr);

	if (r < 0)
		return r;
	/* Modules were announced before their samples were counted: now all of them are known. */
	sampler_events(monitor->source.sampler, monitor_on_event, monitor);
	*retfill = MAX(*retfill, drained.fill);
	drained_account(monitor, table, &drained);
	if (table == SAMPLER_REFERENCE || !source_kind_of(monitor->source.found.kind)->is_tick) {
		pace_heal(&monitor->pace, monitor->source.sampler, drained.per_cpu, elapsed_s);
		monitor->status.expected_reference += (uint64_t)pace_expected(&monitor->pace, elapsed_s);
	}
	r = collector_add(monitor->collector, table, &drained, reterr);
	if (r == -ERANGE) {
		monitor->status.n_lawless++;
		log_error("%s; this drain is thrown away", reterr->text);
		return 0;
	}
	return r;
}

static void log_account(struct monitor *monitor, const struct sample_log *log)
{
	struct monitor_status *status = &monitor->status;

	status->user += log->user;
	status->kernel += log->kernel;
	status->idle += log->idle;
	status->attributed += log->attributed;
	status->anonymous += log->anonymous;
	for (unsigned i = 0; i < SAMPLE_LOSS_END; i++)
		status->lost[i] += log->lost[i];
}

int monitor_write_log(struct monitor *monitor, struct sample_log *log, struct fault *reterr)
{
	int r;

	log_account(monitor, log);
	if (!log->user && !log->kernel && !monitor->settings->output) {
		sample_log_free(log); /* nothing ran; the next one will tell of the idle time */
		return 0;
	}
	r = outlet_log(&monitor->outlet, log, reterr);
	if (r == -ENOMEM)
		return r;
	if (r < 0 && monitor->was_writable)
		log_warning("%s; logs are kept and tried again", reterr->text);
	if (r == 0 && !monitor->was_writable)
		log_info("%s can be written again", monitor->settings->spool);
	monitor->was_writable = r == 0;
	return 0;
}

int monitor_make_log(struct monitor *monitor, struct collector_head *head, struct fault *reterr)
{
	struct sample_log *log;
	int r;

	head->n_cpus = monitor->status.n_cpus;
	r = collector_log(monitor->collector, head, &log, reterr);
	if (r == -ERANGE) {
		monitor->status.n_lawless++;
		log_error("%s; this log is thrown away", reterr->text);
		return 0;
	}
	return r < 0 ? r : monitor_write_log(monitor, log, reterr);
}

int monitor_main_log(struct monitor *monitor, uint64_t now, struct fault *reterr)
{
	const struct monitor_status *status = &monitor->status;
	bool is_tick = source_kind_of(monitor->source.found.kind)->is_tick;
	bool with_reference = is_tick && !monitor->burst.is_on;
	struct collector_head head = {
		.source = source_in_logs(monitor->source.found.kind),
		.rate_hz = is_tick ? status->rates.tick_hz : status->clock_hz,
		.start_ns = monitor->start_ns,
		.duration_ns = now - monitor->cycle_ns,
		.tables = 1u << SAMPLER_MAIN | (with_reference ? 1u << SAMPLER_REFERENCE : 0),
	};

	if (with_reference && monitor->reference_ran) {
		head.rate_hz += status->rates.reference_hz;
		head.clocks = (struct agreement_clocks){
			.tick_hz = status->rates.tick_hz,
			.reference_hz = pace_mean_hz(&monitor->pace),
			.is_paused = monitor->pace.n_paused > 0,
		};
	}
	monitor->start_ns = clock_ns(CLOCK_REALTIME);
	monitor->cycle_ns = now;
	return monitor_make_log(monitor, &head, reterr);
}
