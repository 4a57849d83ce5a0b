/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The steps of monitor.h. What passes (a full disk, a refused event on one CPU) is logged once and
 * remembered; what cannot pass is returned.
 */

#define _GNU_SOURCE
#include "monitor/monitor_state.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "monitor/machine/support.h"
#include "monitor/source_kind.h"

#define FIRST_INTERVAL_NS 2000000000u
#define URGENT_NS 500000000u	  /* a death waits this long for company */
#define RETRY_NS 10000000000u	  /* between attempts to write events */
#define GUESSED_PROGRAM_NS 2000.0 /* until measured */
#define GUESSED_OWN_PART 0.3	  /* of the budget, for the monitor itself, until measured */

/* --- step 1: open --------------------------------------------------------------------------------- */

static int poll_add(struct monitor *monitor, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(monitor->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_parts(struct monitor *monitor, struct fault *reterr)
{
	int r = outlet_open(monitor->settings, &monitor->outlet, reterr);

	if (r < 0)
		return r;
	if (!monitor->settings->output)
		r = control_open(monitor->settings->run_directory, &monitor->control, reterr);
	if (r < 0)
		return r;
	if (monitor->settings->source < MONITOR_PERF) {
		r = finder_open(&monitor->finder, reterr);
		if (r < 0)
			return r;
	}
	monitor->collector = collector_new(monitor->finder);
	monitor->lives = lives_new();
	monitor->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!monitor->collector || !monitor->lives || monitor->epoll < 0)
		return fault_errno(reterr, -ENOMEM, "monitor");
	return 0;
}

static int start(struct monitor *monitor, struct fault *reterr)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int r = 0;

	if (monitor->source.sampler)
		r = pace_init(&monitor->pace, sampler_n_cpus(monitor->source.sampler));
	if (r == 0 && monitor->source.sampler)
		r = poll_add(monitor, sampler_events_fd(monitor->source.sampler));
	if (r == 0 && monitor->control.fd >= 0)
		r = poll_add(monitor, monitor->control.fd);
	if (r < 0)
		return fault_errno(reterr, r, "monitor");
	monitor->opened_ns = monitor->cycle_ns = now;
	monitor->start_ns = clock_ns(CLOCK_REALTIME);
	monitor->interval_ns = MIN(FIRST_INTERVAL_NS, monitor->settings->interval_s * 1000000000u);
	monitor->next_ns = now + monitor->interval_ns;
	monitor->used_cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	budget_save(&monitor->credit, monitor->settings->budget, 1, 900, 0);
	monitor->status.credit_s = monitor->credit.seconds;
	monitor_requests(monitor);
	monitor_rates_set(monitor);
	return 0;
}

int monitor_open(const struct monitor_settings *settings, struct monitor **ret, struct fault *reterr)
{
	_clean_(monitor_freep) struct monitor *monitor = calloc(1, sizeof(*monitor));
	struct budget_cost *cost;
	struct fault fault;
	int r;

	if (!monitor)
		return fault_errno(reterr, -ENOMEM, "monitor");
	monitor->settings = settings;
	monitor->epoll = monitor->control.fd = monitor->outlet.spool.lock = -1;
	monitor->was_writable = true;
	monitor->urgent_ns = UINT64_MAX;
	monitor->status.tick_hz = support_tick_hz();
	r = open_parts(monitor, reterr);
	if (r < 0)
		return r;
	cost = &monitor->status.cost;
	cost->tick_ns = cost->clock_ns = GUESSED_PROGRAM_NS;
	cost->own = settings->budget * GUESSED_OWN_PART;
	if (source_clock_is_denied(monitor->settings) || budget_measure(&cost->interrupt_ns, &fault) < 0)
		cost->interrupt_ns = 0;
	monitor->status.clock_hz = settings->rate_hz > 0 ?
					   settings->rate_hz :
					   budget_clock_hz(settings->budget, cost, MONITOR_CLOCK_MAX_HZ);
	r = source_open(settings, monitor->status.clock_hz, &monitor->source, reterr);
	if (r < 0)
		return r;
	r = start(monitor, reterr);
	if (r < 0)
		return r;
	*ret = TAKE(monitor);
	return 0;
}

void monitor_free(struct monitor *monitor)
{
	if (!monitor)
		return;
	source_close(&monitor->source);
	collector_free(monitor->collector);
	finder_free(monitor->finder);
	lives_free(monitor->lives);
	pace_done(&monitor->pace);
	outlet_close(&monitor->outlet);
	control_close(&monitor->control);
	if (monitor->epoll >= 0)
		close(monitor->epoll);
	free(monitor);
}

/* --- step 2: between drains ----------------------------------------------------------------------- */

void monitor_on_event(const struct sampler_event *event, size_t size, void *closure)
{
	struct monitor *monitor = closure;
	struct sampler_file again;

	if (event->type == SAMPLER_EVENT_MODULE || event->type == SAMPLER_EVENT_GROUP) {
		if (!collector_event(monitor->collector, event, size, &again))
			sampler_forget(monitor->source.sampler, &again);
		return;
	}
	if (lives_event(monitor->lives, monitor->collector, event, size) < 0)
		log_warning("out of memory: an event of a program is lost");
	if (lives_is_urgent(monitor->lives))
		monitor->urgent_ns = MIN(monitor->urgent_ns, clock_ns(CLOCK_MONOTONIC) + URGENT_NS);
}

int monitor_fd(const struct monitor *monitor)
{
	return monitor->epoll;
}

int monitor_work(struct monitor *monitor, int timeout_ms, struct fault *reterr)
{
	struct epoll_event events[4];
	int r;

	if (monitor->source.recorder)
		r = recorder_wait(monitor->source.recorder, monitor->epoll, timeout_ms, reterr);
	else
		r = epoll_wait(monitor->epoll, events, ARRAY_SIZE(events), timeout_ms) < 0 && errno != EINTR ?
			    fault_errno(reterr, -errno, "epoll") :
			    0;
	if (r < 0)
		return r;
	if (monitor->source.sampler)
		sampler_events(monitor->source.sampler, monitor_on_event, monitor);
	if (monitor->control.fd >= 0 && control_drain(&monitor->control))
		monitor_requests(monitor);
	return 0;
}

uint64_t monitor_next_ns(const struct monitor *monitor)
{
	return MIN(monitor->next_ns, monitor->urgent_ns);
}

/* Files whose numbers nobody knows any more are announced again; a file that was written to is another one. */
static void modules_renew(struct monitor *monitor)
{
	struct sampler_file again;

	while (collector_due(monitor->collector, clock_ns(CLOCK_MONOTONIC), &again))
		sampler_forget(monitor->source.sampler, &again);
	if (collector_forgotten(monitor->collector))
		sampler_forget_all(monitor->source.sampler);
	else
		sampler_flush(monitor->source.sampler);
}

/* Whose starts and ends are told. What stands at a path may be another file since. */
static void watch_renew(struct monitor *monitor)
{
	char path[PATH_MAX];
	struct fault fault;
	int r;

	if (monitor->control.fd < 0 || !monitor->source.sampler)
		return;
	snprintf(path, sizeof(path), "%s/" CONTROL_WATCH, monitor->control.directory);
	r = monitor->settings->lifecycle ?
		    lives_watch(monitor->lives, monitor->source.sampler, path, &fault) :
		    0;
	if (r < 0)
		log_warning("%s", fault.text);
	else
		monitor->status.n_watched = (uint64_t)r;
}

static int on_untold(uint32_t user, const struct sampler_share *share, void *closure)
{
	struct monitor *monitor = closure;

	monitor->status.untold += (uint64_t)share->files_untold + share->deaths_untold + share->starts_untold;
	return lives_untold(monitor->lives, user, share);
}

static void events_write(struct monitor *monitor, uint64_t now)
{
	struct fault fault;

	if (!lives_pending(monitor->lives)->n_events || now < monitor->events_retry_ns)
		return;
	if (outlet_events(&monitor->outlet, lives_pending(monitor->lives), &fault) == 0)
		lives_clear(monitor->lives);
	else
		monitor->events_retry_ns = now + RETRY_NS;
	monitor->urgent_ns = UINT64_MAX;
}

/* --- step 3: all of it ---------------------------------------------------------------------------- */

static int recorder_cycle(struct monitor *monitor, bool last, struct fault *reterr)
{
	struct sample_log *log = NULL;
	int r = last ? recorder_stop(monitor->source.recorder, reterr) : 0;

	if (r == 0)
		r = recorder_log(monitor->source.recorder, &log, reterr);
	if (r < 0)
		return r;
	monitor->status.n_cpus = log->n_cpus;
	monitor->status.fired[SAMPLER_MAIN] += log->fired;
	r = sample_log_check(log, reterr);
	if (r < 0) {
		monitor->status.n_lawless++;
		sample_log_free(log);
		return 0;
	}
	monitor->cycle_ns = clock_ns(CLOCK_MONOTONIC);
	r = monitor_write_log(monitor, log, reterr);
	return r < 0 || last ?
		       r :
		       source_renew(monitor->settings, monitor->status.clock_hz, &monitor->source, reterr);
}

static int sampler_cycle(struct monitor *monitor, bool last, struct fault *reterr)
{
	double elapsed_s = (double)(clock_ns(CLOCK_MONOTONIC) - monitor->cycle_ns) / 1e9, fill = 0;
	bool has_reference = source_kind_of(monitor->source.found.kind)->is_tick &&
			     !source_clock_is_denied(monitor->settings);
	bool burst_is_over;
	int r = monitor_drain(monitor, SAMPLER_MAIN, elapsed_s, &fill, reterr);
	uint64_t now;

	if (r == 0 && has_reference)
		r = monitor_drain(monitor, SAMPLER_REFERENCE, elapsed_s, &fill, reterr);
	if (r < 0)
		return r;
	now = clock_ns(CLOCK_MONOTONIC);
	burst_is_over = monitor->burst.is_on && (last || now >= monitor->burst.end_ns);
	if (burst_is_over)
		r = monitor_burst_end(monitor, now, reterr);
	else if (monitor->burst.is_on && monitor->burst.table == SAMPLER_MAIN)
		return 0; /* all of it goes into one log */
	if (r == 0)
		r = monitor_main_log(monitor, now, reterr);
	if (r < 0)
		return r;
	modules_renew(monitor);
	watch_renew(monitor);
	if (sampler_untold(monitor->source.sampler, on_untold, monitor) < 0)
		log_warning("out of memory: what was not told is not told either");
	if (collector_is_broken(monitor->collector))
		return fault_set(reterr, -EPIPE, "the process that finds files (morph-finder) is gone");
	if (!monitor->burst.is_on)
		monitor_interval_adapt(monitor, fill);
	monitor_spending_account(monitor, elapsed_s);
	if (!monitor->burst.is_on)
		monitor_rates_set(monitor);
	return 0;
}

/* What was sampled until now is another log's. */
static void burst_start(struct monitor *monitor, const struct control_burst *request)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	double hz = monitor_burst_buy(monitor, request);
	struct fault fault;

	if (hz <= 0)
		return;
	if (sampler_cycle(monitor, false, &fault) < 0)
		log_warning("%s", fault.text);
	else
		monitor_burst_begin(monitor, request, hz, now);
}

void monitor_requests(struct monitor *monitor)
{
	struct control_burst burst = { 0 };
	struct fault fault;
	int r;

	if (monitor->control.fd < 0 || !monitor->source.sampler)
		return;
	watch_renew(monitor);
	r = control_take_burst(&monitor->control, &burst, &fault);
	if (r < 0)
		log_warning("%s", fault.text);
	else if (r > 0)
		burst_start(monitor, &burst);
	free(burst.module);
}

static void schedule(struct monitor *monitor)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	monitor->next_ns = now + monitor->interval_ns;
	if (monitor->burst.is_on)
		monitor->next_ns = now + MIN(monitor_burst_drain_ns(monitor),
					     monitor->burst.end_ns > now ? monitor->burst.end_ns - now : 0);
}

int monitor_cycle(struct monitor *monitor, bool last, struct fault *reterr)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int r;

	if (!last && now < monitor->next_ns) {
		events_write(monitor, now);
		return 0;
	}
	r = monitor->source.recorder ? recorder_cycle(monitor, last, reterr) :
				       sampler_cycle(monitor, last, reterr);
	if (r < 0)
		return r;
	monitor->status.n_cycles++;
	events_write(monitor, clock_ns(CLOCK_MONOTONIC));
	if (last) {
		r = outlet_finish(&monitor->outlet, reterr);
		if (r < 0 && !monitor->settings->output) {
			log_warning("%s; these samples are lost", reterr->text);
			r = 0;
		}
	}
	schedule(monitor);
	return r;
}

static uint64_t rss_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (file && fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void monitor_status(struct monitor *monitor, struct monitor_status *ret)
{
	struct monitor_status *status = &monitor->status;

	status->source = monitor->source.found;
	status->budget = monitor->settings->budget;
	status->n_modules = collector_n_modules(monitor->collector);
	status->n_synchronous = collector_n_synchronous(monitor->collector);
	status->n_logs = monitor->outlet.n_logs;
	status->n_unwritten = monitor->outlet.n_unwritten;
	status->n_dropped_files = monitor->outlet.spool.n_dropped;
	status->rss_bytes = rss_bytes();
	status->cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	status->elapsed_s = (double)(clock_ns(CLOCK_MONOTONIC) - monitor->opened_ns) / 1e9;
	*ret = *status;
}
