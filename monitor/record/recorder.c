/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Steps 1, 2 and 4 of recorder.h. Time is CLOCK_MONOTONIC, which the events use too, so that "older than
 * the slack" can be told from our own clock. The slack covers a CPU that took a record's time but was
 * stopped (by its hypervisor, say) before it had written the record.
 */

#include "monitor/record/recorder_state.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "monitor/machine/cpu_list.h"

#define SLACK_NS 60000000u
#define SAMPLE_WAKEUP_BYTES 32768u
#define BAND_WAKEUP_BYTES 16384u
#define MAX_RATE_HZ 100000.0

/* --- steps 1 and 2 -------------------------------------------------------------------------------- */

/* Losses count at once: they have no place in the order of things. */
static void on_lost(struct recorder *recorder, uint64_t lost, bool is_band)
{
	if (is_band) {
		recorder->band_lost = true;
		return;
	}
	recorder->counters.fired += lost;
	recorder->counters.user += lost;
	recorder->counters.lost[SAMPLE_LOSS_RING_FULL] += lost;
}

static void on_told(struct recorder *recorder, uint64_t lost, bool is_band)
{
	recorder->told_lost += is_band ? 0 : lost;
	on_lost(recorder, lost, is_band);
}

/* A record tells of a loss when the next one finds room, which at the end is never. */
static void untold_count(struct recorder *recorder)
{
	uint64_t lost = perf_set_lost(&recorder->set);

	if (lost > recorder->told_lost)
		on_told(recorder, lost - recorder->told_lost, false);
}

static int ring_drain(struct recorder *recorder, struct perf_ring *ring, bool is_band)
{
	const void *bytes;
	size_t size;
	int r = 0;

	while (r == 0 && (bytes = perf_ring_next(ring, &recorder->scratch, &size))) {
		struct perf_record record;

		if (perf_record_decode(bytes, size, &recorder->format, &record) < 0)
			on_lost(recorder, 1, is_band);
		else if (record.type == PERF_RECORD_LOST || record.type == PERF_RECORD_LOST_SAMPLES)
			on_told(recorder, record.lost, is_band);
		else
			r = event_queue_push(&recorder->queue, &record);
	}
	perf_ring_release(ring);
	return r;
}

static int drain(struct recorder *recorder, bool all)
{
	uint64_t until = all ? UINT64_MAX : clock_ns(CLOCK_MONOTONIC) - SLACK_NS;
	int r = 0;

	for (size_t i = 0; r == 0 && i < recorder->set.n_cpus; i++)
		for (unsigned k = 0; r == 0 && k < PERF_SET_RINGS; k++)
			if (recorder->set.cpus[i].rings[k].page)
				r = ring_drain(recorder, &recorder->set.cpus[i].rings[k], k == PERF_SET_BAND);
	if (r == 0)
		r = event_queue_take(&recorder->queue, until, recorder_take, recorder);
	if (r == 0 && recorder->band_lost) {
		recorder->band_lost = false;
		/* Who was forked meanwhile is sampled, but nobody knows; adding him would count him twice. */
		recorder->is_stale |= recorder->target == RECORDER_TASKS;
		r = recorder_load_processes(recorder, recorder->target == RECORDER_TASKS);
	}
	return r;
}

static uint64_t period_of(const struct recorder_options *options)
{
	double unit = options->clock == PERF_CLOCK_CYCLES ? cpu_hz() : 1e9;

	if (options->clock == PERF_CLOCK_FAULTS)
		return 1; /* each one */
	return (uint64_t)(unit / options->rate_hz + 0.5);
}

static int set_open(struct recorder *recorder, const struct recorder_options *options)
{
	struct perf_options samples = {
		.clock = options->clock,
		.period = period_of(options),
		.inherit = options->target == RECORDER_TASKS,
		.enable_on_exec = options->enable_on_exec,
		.branches = options->branches,
		/* Where a page was missing is all that is asked of a fault, and there may be a million a second. */
		.registers = !options->branches && options->clock != PERF_CLOCK_FAULTS,
		.counts_lost = true,
		.wakeup_bytes = SAMPLE_WAKEUP_BYTES,
	};
	struct perf_options band = samples;
	struct perf_event_attr attr;

	band.clock = PERF_CLOCK_NONE;
	band.registers = false;
	band.counts_lost = false;
	band.side_band = true;
	band.build_ids = !options->tells_files;
	band.wakeup_bytes = BAND_WAKEUP_BYTES;
	perf_attr_fill(&samples, &attr);
	recorder->format = (struct perf_format){ .sample_type = attr.sample_type,
						 .sample_id_all = true,
						 .n_registers = INTERRUPTED_PERF_N };
	return perf_set_init(&recorder->set, &samples, &band);
}

static int watch(struct recorder *recorder, const struct recorder_options *options, struct fault *reterr)
{
	int r = set_open(recorder, options);

	if (r < 0)
		return fault_errno(reterr, r, "perf events");
	r = recorder_add_targets(recorder, options, reterr);
	if (r < 0)
		return r;
	recorder->start_ns = clock_ns(CLOCK_REALTIME);
	recorder->since_ns = clock_ns(CLOCK_MONOTONIC);
	if (options->enable_on_exec)
		return 0;
	r = perf_set_enable(&recorder->set, true);
	/* Only now: what is mapped from here on comes as a record. */
	for (size_t i = 0; r == 0 && options->target == RECORDER_TASKS && i < options->n_pids; i++)
		r = recorder_load_process(recorder, options->pids[i]);
	if (r == 0 && options->target != RECORDER_TASKS)
		r = recorder_load_processes(recorder, false);
	return r < 0 ? fault_errno(reterr, r, "cannot start sampling") : 0;
}

int recorder_open(const struct recorder_options *options, struct recorder **ret, struct fault *reterr)
{
	_clean_(recorder_freep) struct recorder *recorder = calloc(1, sizeof(*recorder));
	int r;

	if (!recorder)
		return fault_errno(reterr, -ENOMEM, "recorder");
	if (!(options->rate_hz >= 1 && options->rate_hz <= MAX_RATE_HZ))
		return fault_set(reterr, -EINVAL, "%g samples per second: choose 1 to %.0f", options->rate_hz,
				 MAX_RATE_HZ);
	recorder->target = options->target;
	recorder->clock = options->clock;
	recorder->rate_hz = options->rate_hz;
	recorder->catalog = catalog_new();
	recorder->observer = recorder->catalog ? observer_new(recorder->catalog) : NULL;
	recorder->spaces = space_table_new();
	recorder->kernel = recorder->catalog ? kernel_map_new("", recorder->catalog) : NULL;
	if (options->tells_processes)
		recorder->processes = processes_new();
	if (!recorder->observer || !recorder->spaces || !recorder->kernel ||
	    (options->tells_processes && !recorder->processes))
		return fault_errno(reterr, -ENOMEM, "recorder");
	r = watch(recorder, options, reterr);
	if (r < 0)
		return r;
	*ret = TAKE(recorder);
	return 0;
}

void recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return;
	perf_set_done(&recorder->set);
	event_queue_done(&recorder->queue);
	buffer_done(&recorder->scratch);
	histogram_done(&recorder->samples);
	histogram_done(&recorder->branches);
	processes_free(recorder->processes);
	kernel_map_free(recorder->kernel);
	observer_free(recorder->observer);
	space_table_free(recorder->spaces);
	catalog_free(recorder->catalog);
	free(recorder);
}

/* Events of one process go on when a CPU comes back, those of all processes do not. */
bool recorder_is_stale(struct recorder *recorder)
{
	struct cpu_list online;
	unsigned n_known = 0;

	cpu_list_online(&online);
	for (size_t i = 0; i < recorder->set.n_cpus; i++)
		n_known += cpu_list_has(&online, recorder->set.cpus[i].cpu);
	if (recorder->target != RECORDER_TASKS)
		recorder->was_away |= n_known < recorder->set.n_cpus;
	return recorder->is_stale || n_known < online.n ||
	       (recorder->was_away && n_known == recorder->set.n_cpus);
}

int recorder_wait(struct recorder *recorder, int fd, int timeout_ms, struct fault *reterr)
{
	int ready = perf_set_wait(&recorder->set, fd, timeout_ms);
	int r = ready < 0 ? ready : drain(recorder, false);

	return r < 0 ? fault_errno(reterr, r, "perf rings") : ready;
}

int recorder_stop(struct recorder *recorder, struct fault *reterr)
{
	int r = perf_set_enable(&recorder->set, false);

	if (r == 0)
		r = drain(recorder, true);
	if (r == 0)
		untold_count(recorder);
	return r < 0 ? fault_errno(reterr, r, "cannot stop sampling") : 0;
}

static void head_fill(struct recorder *recorder, struct sample_log *log)
{
	const struct recorder_counters *counters = &recorder->counters;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	bool counts_faults = recorder->clock == PERF_CLOCK_FAULTS;

	log->source = counts_faults			   ? SAMPLE_SOURCE_FAULTS :
		      recorder->clock == PERF_CLOCK_CYCLES ? SAMPLE_SOURCE_CYCLES :
							     SAMPLE_SOURCE_CPU_CLOCK;
	log->rate_hz = counts_faults ? 0 : recorder->rate_hz;
	log->start_ns = recorder->start_ns;
	log->duration_ns = now - recorder->since_ns;
	log->n_cpus = (uint32_t)recorder->set.n_cpus;
	log->fired = counters->fired;
	log->idle = counters->idle;
	log->kernel = counters->kernel;
	log->user = counters->user;
	log->attributed = counters->attributed;
	log->anonymous = counters->anonymous;
	memcpy(log->lost, counters->lost, sizeof(log->lost));
	recorder->start_ns = clock_ns(CLOCK_REALTIME);
	recorder->since_ns = now;
}

int recorder_log(struct recorder *recorder, struct sample_log **ret, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	int r = log ? catalog_log(recorder->catalog, &recorder->samples, &recorder->branches, log) : -ENOMEM;

	if (r < 0)
		return fault_errno(reterr, r, "sample log");
	head_fill(recorder, log);
	recorder->counters = (struct recorder_counters){ 0 };
	histogram_clear(&recorder->samples);
	histogram_clear(&recorder->branches);
	if (recorder->processes)
		histogram_clear(processes_samples(recorder->processes));
	*ret = TAKE(log);
	return 0;
}

int recorder_each(struct recorder *recorder, int (*place)(void *closure, const struct recorder_place *place),
		  void *closure)
{
	struct histogram *samples = processes_samples(recorder->processes);
	int r = 0;

	for (size_t i = 0; r == 0 && i < samples->capacity; i++) {
		const struct histogram_entry *entry = &samples->entries[i];
		const struct process_group *group = processes_group(recorder->processes, entry->b);
		struct sample_module module = { .user = SAMPLE_USER_UNKNOWN };
		struct recorder_place told = { .offset = entry->a,
					       .count = entry->count,
					       .process = group ? group->name : "?",
					       .unit = group ? group->unit : "?" };

		if (!entry->count)
			continue;
		if (entry->module == CATALOG_NONE) {
			told.is_kernel = entry->a == RECORDER_KERNEL;
		} else {
			const struct catalog_module *from = catalog_at(recorder->catalog, entry->module);

			module.kind = from->kind;
			module.build_id = from->build_id;
			module.path = from->path;
			module.file_size = from->size;
			module.mtime_ns = from->mtime_ns;
			module.space = from->space;
			module.user = from->user;
			told.module = &module;
		}
		r = place(closure, &told);
	}
	return r;
}

bool recorder_sees_kernel(const struct recorder *recorder)
{
	return !recorder->set.samples.exclude_kernel;
}
