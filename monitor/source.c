/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/source.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "monitor/machine/cpu_list.h"
#include "monitor/machine/deny.h"
#include "monitor/machine/support.h"

#define REFERENCE_ROWS 4096u
#define MIN_ROWS 512u
#define MAX_SNAPSHOTS 2048u /* per CPU and interval */
#define MAX_SNAPSHOTS_OF_ALL 65536u
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

enum sample_source source_in_logs(enum monitor_source kind)
{
	return kind == MONITOR_TICK   ? SAMPLE_SOURCE_TICK :
	       kind == MONITOR_CYCLES ? SAMPLE_SOURCE_CYCLES :
					SAMPLE_SOURCE_CPU_CLOCK;
}

bool source_clock_is_denied(const struct monitor_settings *settings)
{
	return deny_reason(DENY_CPU_CLOCK, NULL) && !settings->is_denied_allowed;
}

static int open_sampler(const struct monitor_settings *settings, double clock_hz, enum monitor_source kind,
			struct source *ret, struct fault *reterr)
{
	bool is_tick = kind == MONITOR_TICK;
	struct sampler_options options = {
		.source = source_in_logs(kind),
		.has_reference = is_tick && !source_clock_is_denied(settings),
		.no_lifecycle = !settings->lifecycle || settings->output,
	};
	struct cpu_list online;
	int r;

	if (deny_reason(DENY_BPF_WALK, NULL))
		return fault_set(reterr, -EOPNOTSUPP, "%s", deny_reason(DENY_BPF_WALK, NULL));
	if (kind == MONITOR_CPU_CLOCK && source_clock_is_denied(settings))
		return fault_set(reterr, -EOPNOTSUPP, "%s", deny_reason(DENY_CPU_CLOCK, NULL));
	cpu_list_online(&online);
	options.rate_hz = is_tick ? support_tick_hz() : clock_hz;
	ret->capacity[SAMPLER_MAIN] = options.n_main_rows =
		rows_for(options.rate_hz, (double)settings->interval_s, online.n);
	ret->capacity[SAMPLER_REFERENCE] = options.n_reference_rows =
		is_tick ? rows_for(REFERENCE_ROWS, 1, online.n) : MIN_ROWS;
	if (is_tick)
		snapshots_for(options.rate_hz * (double)settings->interval_s, online.n, &options);
	r = sampler_open(&options, &ret->sampler, reterr);
	if (r < 0)
		return r;
	ret->sees_kernel_addresses = sampler_has_kernel_addresses(ret->sampler);
	if (!is_tick)
		ret->reference_reason = "the main clock is unbiased itself";
	else if (!options.has_reference)
		ret->reference_reason = deny_reason(DENY_CPU_CLOCK, NULL);
	else if (!settings->reference)
		ret->reference_reason = "switched off in the configuration";
	return 0;
}

static int open_recorder(const struct monitor_settings *settings, double clock_hz, enum monitor_source kind,
			 struct source *ret, struct fault *reterr)
{
	struct recorder_options options = { .target = RECORDER_ALL,
					    .rate_hz = clock_hz,
					    .tells_files = true };
	struct rlimit files;
	int r;

	if (source_clock_is_denied(settings))
		return fault_set(reterr, -EOPNOTSUPP, "%s", deny_reason(DENY_CPU_CLOCK, NULL));
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (kind == MONITOR_USER)
		options.target = RECORDER_TASKS;
	ret->reference_reason = "the main clock is unbiased itself";
	ret->sees_kernel_addresses = true;
	r = recorder_open(&options, &ret->recorder, reterr);
	if (r == 0 && kind == MONITOR_USER)
		r = recorder_add_own(ret->recorder, reterr);
	return r;
}

static int open_one(const struct monitor_settings *settings, double clock_hz, enum monitor_source kind,
		    struct source *ret, struct fault *reterr)
{
	ret->kind = kind;
	return kind >= MONITOR_PERF ? open_recorder(settings, clock_hz, kind, ret, reterr) :
				      open_sampler(settings, clock_hz, kind, ret, reterr);
}

/* The fallback ladder. A user without privilege gets the last rung only on request. */
int source_open(const struct monitor_settings *settings, double clock_hz, struct source *ret,
		struct fault *reterr)
{
	static const enum monitor_source ladder[] = { MONITOR_TICK, MONITOR_CPU_CLOCK, MONITOR_PERF };
	int r = -EINVAL;

	ret->reference_reason = "";
	if (settings->source != MONITOR_AUTO)
		return open_one(settings, clock_hz, settings->source, ret, reterr);
	for (size_t i = 0; i < ARRAY_SIZE(ladder); i++) {
		r = open_one(settings, clock_hz, ladder[i], ret, reterr);
		if (r == 0)
			return 0;
		/* The first reason is the one to mend. */
		if (!ret->reason[0])
			snprintf(ret->reason, sizeof(ret->reason), "%s: %s", monitor_source_name(ladder[i]),
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
		return open_recorder(settings, clock_hz, source->kind, source, reterr);
	}
	return source->kind == MONITOR_USER ? recorder_add_own(source->recorder, reterr) : 0;
}

void source_close(struct source *source)
{
	sampler_free(source->sampler);
	recorder_free(source->recorder);
}
