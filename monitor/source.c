/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/source.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "monitor/machine/cpu_list.h"
#include "monitor/machine/deny.h"
#include "monitor/machine/support.h"
#include "monitor/source_kind.h"

#define REFERENCE_ROWS 4096u
#define MIN_ROWS 512u
#define MAX_SNAPSHOTS 2048u /* per CPU and interval */
#define MAX_SNAPSHOTS_OF_ALL 65536u
#define MAX_STACKS 4096u /* per CPU and interval */
#define MAX_STACK_BYTES (32u << 20)
#define MAX_TABLE_BYTES (32u << 20)
#define BYTES_PER_ROW 96u /* of the kernel's tables, both epochs */

/* Per CPU: what comes in one interval, but not more than a large machine's memory is worth. */
static uint32_t rows_for(double per_second, double seconds, unsigned n_cpus)
{
	uint32_t rows = MIN_ROWS;

	while (rows < per_second * seconds && rows * 2 * BYTES_PER_ROW * MAX(n_cpus, 1u) <= MAX_TABLE_BYTES)
		rows *= 2;
	return rows;
}

/* Registers are large: of the @samples that a CPU takes in one interval, as many leave theirs as there is room for, evenly. */
static void snapshots_for(double samples, unsigned n_cpus, struct sampler_options *ret)
{
	ret->n_snapshots = MAX_SNAPSHOTS;
	while (ret->n_snapshots > 1 && ret->n_snapshots * MAX(n_cpus, 1u) > MAX_SNAPSHOTS_OF_ALL)
		ret->n_snapshots /= 2;
	ret->snapshot_every = 1;
	while (ret->snapshot_every * (double)ret->n_snapshots < samples)
		ret->snapshot_every *= 2;
}

/* Likewise; so many samples share one. */
static void stacks_for(double samples, unsigned n_cpus, struct sampler_options *ret)
{
	size_t room = MAX_STACK_BYTES / (SAMPLER_EPOCHS * sizeof(struct sampler_stack)) / MAX(n_cpus, 1u);

	ret->n_stacks = (uint32_t)MIN(MAX(room, (size_t)1), (size_t)MAX_STACKS);
	ret->stack_every = 1;
	while (ret->stack_every * (double)ret->n_stacks < samples)
		ret->stack_every *= 2;
}

#define ROW(SOURCE, name, ...) [MONITOR_##SOURCE] = &source_kind_##name,

static const struct source_kind *const kinds[] = { MONITOR_SOURCES(ROW) };

const struct source_kind *source_kind_of(enum monitor_source source)
{
	return kinds[source];
}

enum sample_source source_in_logs(enum monitor_source kind)
{
	return source_kind_of(kind)->in_logs;
}

bool source_clock_is_denied(const struct monitor_settings *settings)
{
	return deny_reason(DENY_CPU_CLOCK, NULL) && !settings->is_denied_allowed;
}

int source_open_sampler(const struct source_kind *kind, const struct monitor_settings *settings,
			double clock_hz, struct source *ret, struct fault *reterr)
{
	bool is_tick = kind->is_tick;
	struct sampler_options options = {
		.source = kind->in_logs,
		.has_reference = is_tick && !source_clock_is_denied(settings),
		.no_lifecycle = !settings->lifecycle || settings->output,
		.owners = settings->owners,
	};
	struct cpu_list online;
	int r;

	if (deny_reason(DENY_BPF_WALK, NULL))
		return fault_set(reterr, -EOPNOTSUPP, "%s", deny_reason(DENY_BPF_WALK, NULL));
	if (kind->is_cpu_clock && source_clock_is_denied(settings))
		return fault_set(reterr, -EOPNOTSUPP, "%s", deny_reason(DENY_CPU_CLOCK, NULL));
	cpu_list_online(&online);
	options.rate_hz = is_tick ? support_tick_hz() : clock_hz;
	ret->capacity[SAMPLER_MAIN] = options.n_main_rows =
		rows_for(options.rate_hz, (double)settings->interval_s, online.n);
	ret->capacity[SAMPLER_REFERENCE] = options.n_reference_rows =
		is_tick ? rows_for(REFERENCE_ROWS, 1, online.n) : MIN_ROWS;
	if (is_tick)
		snapshots_for(options.rate_hz * (double)settings->interval_s, online.n, &options);
	if (settings->stacks)
		stacks_for(options.rate_hz * (double)settings->interval_s, online.n, &options);
	r = sampler_open(&options, &ret->sampler, reterr);
	if (r < 0)
		return r;
	ret->found.sees_kernel_addresses = sampler_has_kernel_addresses(ret->sampler);
	if (!is_tick)
		ret->found.reference_reason = "the main clock is unbiased itself";
	else if (!options.has_reference)
		ret->found.reference_reason = deny_reason(DENY_CPU_CLOCK, NULL);
	else if (!settings->reference)
		ret->found.reference_reason = "switched off in the configuration";
	return 0;
}

int source_open_recorder(const struct source_kind *kind, const struct monitor_settings *settings,
			 double clock_hz, struct source *ret, struct fault *reterr)
{
	struct recorder_options options = { .target = RECORDER_ALL,
					    .rate_hz = clock_hz,
					    .tells_files = true };
	struct rlimit files;
	int r;

	if (kind->is_cpu_clock && source_clock_is_denied(settings))
		return fault_set(reterr, -EOPNOTSUPP, "%s", deny_reason(DENY_CPU_CLOCK, NULL));
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (monitor_source_is_personal(ret->found.kind))
		options.target = RECORDER_TASKS;
	ret->found.reference_reason = "the main clock is unbiased itself";
	ret->found.sees_kernel_addresses = true;
	r = recorder_open(&options, &ret->recorder, reterr);
	if (r == 0 && monitor_source_is_personal(ret->found.kind))
		r = recorder_add_own(ret->recorder, reterr);
	return r;
}

static int open_one(const struct monitor_settings *settings, double clock_hz, enum monitor_source kind,
		    struct source *ret, struct fault *reterr)
{
	ret->found.kind = kind;
	return source_kind_of(kind)->open(source_kind_of(kind), settings, clock_hz, ret, reterr);
}

/* The fallback ladder. A user without privilege gets the last rung only on request. */
int source_open(const struct monitor_settings *settings, double clock_hz, struct source *ret,
		struct fault *reterr)
{
	int r = -EINVAL;

	ret->found.reference_reason = "";
	ret->found.reason = ret->reason;
	if (settings->source != MONITOR_AUTO)
		return open_one(settings, clock_hz, settings->source, ret, reterr);
	for (unsigned kind = MONITOR_AUTO + 1; kind < MONITOR_SOURCE_END; kind++) {
		if (!source_kind_of(kind)->is_automatic)
			continue;
		r = open_one(settings, clock_hz, kind, ret, reterr);
		if (r == 0)
			return 0;
		/* The first reason is the one to mend. */
		if (!ret->reason[0])
			snprintf(ret->reason, sizeof(ret->reason), "%s: %s", monitor_source_name(kind),
				 reterr->text);
	}
	return fault_set(reterr, r, "nothing can be sampled: %.500s%s", ret->reason,
			 geteuid() ? "; --source user samples your own processes" : "");
}

int source_renew(const struct monitor_settings *settings, double clock_hz, struct source *source,
		 struct fault *reterr)
{
	if (recorder_is_stale(source->recorder)) {
		/* First: its descriptors and memory may be what the new one needs. */
		recorder_free(TAKE(source->recorder));
		return source_kind_of(source->found.kind)
			->open(source_kind_of(source->found.kind), settings, clock_hz, source, reterr);
	}
	return monitor_source_is_personal(source->found.kind) ? recorder_add_own(source->recorder, reterr) :
								0;
}

void source_close(struct source *source)
{
	sampler_free(source->sampler);
	recorder_free(source->recorder);
}
