/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The steps of monitor.h. What passes (a full disk, a refused event on one CPU) is logged once and
 * remembered; what cannot pass is returned.
 */

#define _GNU_SOURCE
#include "monitor/monitor.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/log.h"
#include "monitor/clock/pace.h"
#include "monitor/control.h"
#include "monitor/machine/support.h"
#include "monitor/outlet.h"
#include "monitor/record/collector.h"
#include "monitor/record/lives.h"
#include "monitor/source.h"

#define FIRST_INTERVAL_NS 2000000000u
#define MIN_INTERVAL_NS 100000000u
#define URGENT_NS 500000000u  /* a death waits this long for company */
#define RETRY_NS 10000000000u /* between attempts to write events */
#define FILL_HIGH 0.5
#define FILL_LOW 0.2
#define CLOCK_MAX_HZ 99.0	  /* of a lone clock that nobody gave a rate */
#define GUESSED_PROGRAM_NS 2000.0 /* until measured */
#define GUESSED_OWN_PART 0.3	  /* of the budget, for the monitor itself, until measured */
#define HALVE_AFTER 4096.0	  /* timed runs, so that old ones fade */
#define POWER_SUPPLIES "/sys/class/power_supply"

/* A running mean of what one run of the program costs. */
struct mean {
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

	struct mean means[SAMPLER_TABLES];
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

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double own_cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

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

static void rates_set(struct monitor *monitor);
static int sampler_cycle(struct monitor *monitor, bool last, struct fault *reterr);

static int start(struct monitor *monitor, struct fault *reterr)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
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
	monitor->start_ns = now_ns(CLOCK_REALTIME);
	monitor->interval_ns = MIN(FIRST_INTERVAL_NS, monitor->settings->interval_s * 1000000000u);
	monitor->next_ns = now + monitor->interval_ns;
	monitor->used_cpu_s = own_cpu_s();
	budget_save(&monitor->credit, monitor->settings->budget, 1, 900, 0);
	monitor->status.credit_s = monitor->credit.seconds;
	monitor_requests(monitor);
	rates_set(monitor);
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
	monitor->status.budget = settings->budget;
	monitor->status.tick_hz = support_tick_hz();
	r = open_parts(monitor, reterr);
	if (r < 0)
		return r;
	cost = &monitor->status.cost;
	cost->tick_ns = cost->clock_ns = GUESSED_PROGRAM_NS;
	cost->own = monitor->status.budget * GUESSED_OWN_PART;
	if (source_clock_is_denied(monitor->settings) || budget_measure(&cost->interrupt_ns, &fault) < 0)
		cost->interrupt_ns = 0;
	monitor->status.clock_hz = settings->rate_hz > 0 ?
					   settings->rate_hz :
					   budget_clock_hz(settings->budget, cost, CLOCK_MAX_HZ);
	r = source_open(settings, monitor->status.clock_hz, &monitor->source, reterr);
	if (r < 0)
		return r;
	monitor->status.source = monitor->source.kind;
	monitor->status.reference_reason = monitor->source.reference_reason;
	monitor->status.sees_kernel_addresses = monitor->source.sees_kernel_addresses;
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

static void on_event(const struct sampler_event *event, size_t size, void *closure)
{
	struct monitor *monitor = closure;

	if (event->type == SAMPLER_EVENT_MODULE) {
		if (!collector_event(monitor->collector, event, size))
			sampler_forget(monitor->source.sampler, &event->module);
		return;
	}
	if (lives_event(monitor->lives, monitor->collector, event, size) < 0)
		log_warning("out of memory: an event of a program is lost");
	if (lives_is_urgent(monitor->lives))
		monitor->urgent_ns = MIN(monitor->urgent_ns, now_ns(CLOCK_MONOTONIC) + URGENT_NS);
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
		sampler_events(monitor->source.sampler, on_event, monitor);
	if (monitor->control.fd >= 0) {
		control_drain(&monitor->control);
		monitor_requests(monitor);
	}
	return 0;
}

uint64_t monitor_next_ns(const struct monitor *monitor)
{
	return MIN(monitor->next_ns, monitor->urgent_ns);
}

/* --- step 3: drain, write ------------------------------------------------------------------------- */

static void mean_add(struct mean *mean, double sum, double n)
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
	struct mean *mean = &monitor->means[table];
	bool is_clock = table == SAMPLER_REFERENCE || status->source != MONITOR_TICK;

	mean_add(mean, (double)n[SAMPLER_TIMED_NS], (double)n[SAMPLER_TIMED]);
	if (mean->n >= 8)
		*(is_clock ? &status->cost.clock_ns : &status->cost.tick_ns) = mean->sum / mean->n;
	status->fired[table] += n[SAMPLER_FIRED];
	status->events_lost += n[SAMPLER_EVENTS_LOST];
	status->cache_hits += n[SAMPLER_CACHE_HITS];
}

static int drain(struct monitor *monitor, enum sampler_table table, double elapsed_s, double *retfill,
		 struct fault *reterr)
{
	struct sampler_drained drained;
	int r = sampler_drain(monitor->source.sampler, table, &drained, reterr);

	if (r < 0)
		return r;
	/* Modules were announced before their samples were counted: now all of them are known. */
	sampler_events(monitor->source.sampler, on_event, monitor);
	*retfill = MAX(*retfill, drained.fill);
	drained_account(monitor, table, &drained);
	if (table == SAMPLER_REFERENCE || monitor->status.source != MONITOR_TICK) {
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

static int write_log(struct monitor *monitor, struct sample_log *log, struct fault *reterr)
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

static int make_log(struct monitor *monitor, struct collector_head *head, struct fault *reterr)
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
	return r < 0 ? r : write_log(monitor, log, reterr);
}

/* Files whose numbers nobody knows any more are announced again; a file that was written to is another one. */
static void modules_renew(struct monitor *monitor)
{
	if (collector_forgotten(monitor->collector))
		sampler_forget_all(monitor->source.sampler);
	else
		sampler_flush(monitor->source.sampler);
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

/* --- step 3: rates -------------------------------------------------------------------------------- */

static void rates_set(struct monitor *monitor)
{
	struct monitor_status *status = &monitor->status;
	double reference_hz;
	int r;

	if (!monitor->source.sampler)
		return;
	status->on_battery = pace_on_battery(POWER_SUPPLIES);
	if (status->source != MONITOR_TICK) {
		if (monitor->settings->rate_hz <= 0 && status->source == MONITOR_CPU_CLOCK)
			status->clock_hz = budget_clock_hz(status->budget, &status->cost, CLOCK_MAX_HZ);
		r = pace_set(&monitor->pace, monitor->source.sampler, status->clock_hz, false);
		status->rates.total_share =
			status->clock_hz * (status->cost.interrupt_ns + status->cost.clock_ns) / 1e9 +
			status->cost.own;
	} else {
		status->rates = budget_rates(status->budget, &status->cost, status->tick_hz);
		sampler_set_tick_divisor(monitor->source.sampler, status->rates.tick_divisor);
		reference_hz =
			*status->reference_reason || status->on_battery ? 0 : status->rates.reference_hz;
		r = *status->reference_reason ?
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

static void interval_adapt(struct monitor *monitor, double fill)
{
	uint64_t longest = monitor->settings->interval_s * 1000000000u;

	if (fill > FILL_HIGH)
		monitor->interval_ns = MAX(monitor->interval_ns / 2, MIN_INTERVAL_NS);
	else if (fill < FILL_LOW)
		monitor->interval_ns = MIN(monitor->interval_ns * 2, longest);
	monitor->status.interval_s = (double)monitor->interval_ns / 1e9;
}

static void spending_account(struct monitor *monitor, double elapsed_s)
{
	struct monitor_status *status = &monitor->status;
	double used = own_cpu_s() - monitor->used_cpu_s, share;

	monitor->used_cpu_s += used;
	share = elapsed_s > 0 ? used / elapsed_s / MAX(status->n_cpus, 1u) : 0;
	/* The first drains read the kernel's symbol table and every running module; later ones do not. */
	if (status->n_cycles > 2)
		status->cost.own = status->cost.own * 0.8 + share * 0.2;
	budget_save(&monitor->credit, status->budget, status->n_cpus, elapsed_s,
		    status->rates.total_share * elapsed_s * status->n_cpus);
	status->credit_s = monitor->credit.seconds;
}

/* --- step 3: bursts ------------------------------------------------------------------------------- */

static uint64_t burst_drain_ns(const struct monitor *monitor)
{
	double seconds = monitor->source.capacity[monitor->burst.table] * FILL_HIGH / monitor->burst.rate_hz;

	return MAX((uint64_t)(MIN(seconds, 5.0) * 1e9), MIN_INTERVAL_NS);
}

static void burst_begin(struct monitor *monitor, const struct control_burst *request)
{
	struct monitor_status *status = &monitor->status;
	bool has_reference = status->source == MONITOR_TICK;
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	struct fault fault;
	double hz;

	if (!monitor->source.sampler || monitor->burst.is_on ||
	    (has_reference && *status->reference_reason && source_clock_is_denied(monitor->settings))) {
		log_warning("a burst was asked for, but cannot be had now");
		return;
	}
	hz = budget_buy(&monitor->credit, &status->cost, request->rate_hz, request->seconds, status->n_cpus);
	if (hz <= 0) {
		log_info("a burst at %.0f Hz was asked for, but the budget has only %.3f CPU seconds left",
			 request->rate_hz, monitor->credit.seconds);
		return;
	}
	monitor->burst.table = has_reference ? SAMPLER_REFERENCE : SAMPLER_MAIN;
	/* What was sampled until now is another log's. */
	if (sampler_cycle(monitor, false, &fault) < 0) {
		log_warning("%s", fault.text);
		return;
	}
	monitor->burst.is_on = status->is_bursting = true;
	monitor->burst.rate_hz = hz;
	monitor->burst.start_ns = now_ns(CLOCK_MONOTONIC);
	monitor->burst.realtime_ns = now_ns(CLOCK_REALTIME);
	monitor->burst.end_ns = now + (uint64_t)(request->seconds * 1e9);
	monitor->reference_ran = false;
	pace_set(&monitor->pace, monitor->source.sampler, hz, false);
	monitor->next_ns = MIN(monitor->next_ns, now + burst_drain_ns(monitor));
	status->n_bursts++;
	log_info("burst: %.0f Hz for %.1f s%s%s", hz, request->seconds, request->module ? ", for " : "",
		 request->module ? request->module : "");
}

static int burst_end(struct monitor *monitor, uint64_t now, struct fault *reterr)
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
		monitor->start_ns = now_ns(CLOCK_REALTIME);
		monitor->cycle_ns = now;
	}
	return make_log(monitor, &head, reterr);
}

void monitor_requests(struct monitor *monitor)
{
	struct control_burst burst = { 0 };
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
	r = control_take_burst(&monitor->control, &burst, &fault);
	if (r < 0)
		log_warning("%s", fault.text);
	else if (r > 0)
		burst_begin(monitor, &burst);
	free(burst.module);
}

/* --- step 3: all of it ---------------------------------------------------------------------------- */

static int main_log(struct monitor *monitor, uint64_t now, struct fault *reterr)
{
	const struct monitor_status *status = &monitor->status;
	bool is_tick = status->source == MONITOR_TICK;
	bool with_reference = is_tick && !monitor->burst.is_on;
	struct collector_head head = {
		.source = source_in_logs(status->source),
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
	monitor->start_ns = now_ns(CLOCK_REALTIME);
	monitor->cycle_ns = now;
	return make_log(monitor, &head, reterr);
}

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
	monitor->cycle_ns = now_ns(CLOCK_MONOTONIC);
	r = write_log(monitor, log, reterr);
	return r < 0 || last ?
		       r :
		       source_renew(monitor->settings, monitor->status.clock_hz, &monitor->source, reterr);
}

static int sampler_cycle(struct monitor *monitor, bool last, struct fault *reterr)
{
	double elapsed_s = (double)(now_ns(CLOCK_MONOTONIC) - monitor->cycle_ns) / 1e9, fill = 0;
	bool has_reference =
		monitor->status.source == MONITOR_TICK && !source_clock_is_denied(monitor->settings);
	bool burst_is_over;
	int r = drain(monitor, SAMPLER_MAIN, elapsed_s, &fill, reterr);
	uint64_t now;

	if (r == 0 && has_reference)
		r = drain(monitor, SAMPLER_REFERENCE, elapsed_s, &fill, reterr);
	if (r < 0)
		return r;
	now = now_ns(CLOCK_MONOTONIC);
	burst_is_over = monitor->burst.is_on && (last || now >= monitor->burst.end_ns);
	if (burst_is_over)
		r = burst_end(monitor, now, reterr);
	else if (monitor->burst.is_on && monitor->burst.table == SAMPLER_MAIN)
		return 0; /* all of it goes into one log */
	if (r == 0)
		r = main_log(monitor, now, reterr);
	if (r < 0)
		return r;
	modules_renew(monitor);
	if (sampler_untold(monitor->source.sampler, on_untold, monitor) < 0)
		log_warning("out of memory: what was not told is not told either");
	if (collector_is_broken(monitor->collector))
		return fault_set(reterr, -EPIPE, "the process that finds files (morph-finder) is gone");
	if (!monitor->burst.is_on)
		interval_adapt(monitor, fill);
	spending_account(monitor, elapsed_s);
	if (!monitor->burst.is_on)
		rates_set(monitor);
	return 0;
}

static void schedule(struct monitor *monitor)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	monitor->next_ns = now + monitor->interval_ns;
	if (monitor->burst.is_on)
		monitor->next_ns = now + MIN(burst_drain_ns(monitor),
					     monitor->burst.end_ns > now ? monitor->burst.end_ns - now : 0);
}

int monitor_cycle(struct monitor *monitor, bool last, struct fault *reterr)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
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
	events_write(monitor, now_ns(CLOCK_MONOTONIC));
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

	status->source_reason = monitor->source.reason;
	status->n_modules = collector_n_modules(monitor->collector);
	status->n_synchronous = collector_n_synchronous(monitor->collector);
	status->n_logs = monitor->outlet.n_logs;
	status->n_unwritten = monitor->outlet.n_unwritten;
	status->n_dropped_files = monitor->outlet.spool.n_dropped;
	status->rss_bytes = rss_bytes();
	status->cpu_s = own_cpu_s();
	status->elapsed_s = (double)(now_ns(CLOCK_MONOTONIC) - monitor->opened_ns) / 1e9;
	*ret = *status;
}
