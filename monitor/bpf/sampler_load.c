/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Open, lay the tables out, load, attach, map the tables into our address space, start the clocks, prove that
 * the tick comes.
 */

#include "monitor/bpf/sampler_state.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "monitor/machine/cpu_list.h"
#include "monitor/machine/perf_event.h"

#define MIN_ROWS 256u
#define MAX_ROWS (1u << 20)
#define BUCKETS_PER_ROW 4	 /* rows to one bucket: half of the rows fit, the others move */
#define TICK_PROOF_NS 250000000u /* how long the tick may take to show itself */
#define PROBE_ROWS 256u

/* libbpf explains a failure only through its print callback; this keeps the last telling line. */
static char explanation[256];

static int explain(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[sizeof(explanation)];

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "libbpf: ", 8) == 0)
		snprintf(explanation, sizeof(explanation), "%s", line + 8);
	return 0;
}

static int refusal(int code, const char *what, struct fault *reterr)
{
	if (code == -EPERM || code == -EACCES)
		return fault_set(reterr, code,
				 "the kernel refuses to %s; run as root or with CAP_BPF, CAP_PERFMON and "
				 "CAP_SYSLOG (%s)",
				 what, explanation[0] ? explanation : strerror(-code));
	if (code == -ESRCH || code == -ENOENT)
		return fault_set(reterr, code,
				 "cannot %s: this kernel lacks BTF (/sys/kernel/btf/vmlinux) or "
				 "something the sampler reads (%s)",
				 what, explanation);
	return fault_set(reterr, code, "cannot %s: %s (%s)", what, strerror(-code), explanation);
}

static uint32_t power_of_two(uint32_t n)
{
	uint32_t power = MIN_ROWS;

	while (power < n && power < MAX_ROWS)
		power *= 2;
	return power;
}

/* Where each set's buckets and lists begin, and how many there are of all. */
static void layout(struct sampler *sampler)
{
	const struct sampler_options *options = &sampler->options;
	bool has_reference = options->source == SAMPLE_SOURCE_TICK && options->has_reference;
	uint32_t n_cpus = (uint32_t)sampler->n_possible, n_buckets = 0, n_moved = 0;

	for (uint32_t table = 0; table < SAMPLER_TABLES; table++) {
		uint32_t rows = power_of_two(table == SAMPLER_MAIN ? options->n_main_rows :
								     options->n_reference_rows);

		if (table == SAMPLER_REFERENCE && !has_reference)
			rows = BUCKETS_PER_ROW;
		sampler->bpf->bss->control.n_buckets[table] = rows / BUCKETS_PER_ROW;
		/* A sample makes a row of its place, and one of its owner. */
		if (options->owners)
			rows *= 2;
		sampler->bpf->bss->control.n_moved[table] = rows;
		for (uint32_t epoch = 0; epoch < SAMPLER_EPOCHS; epoch++) {
			sampler->bpf->bss->control.bucket_base[table * SAMPLER_EPOCHS + epoch] = n_buckets;
			sampler->bpf->bss->control.moved_base[table * SAMPLER_EPOCHS + epoch] = n_moved;
			n_buckets += n_cpus * sampler->bpf->bss->control.n_buckets[table];
			n_moved += n_cpus * rows;
		}
	}
	sampler->bpf->bss->control.n_snapshots = options->n_snapshots;
	sampler->bpf->bss->control.snapshot_mask = MAX(options->snapshot_every, 1u) - 1;
	sampler->bpf->bss->control.n_stacks = options->n_stacks;
	sampler->bpf->bss->control.stack_mask = MAX(options->stack_every, 1u) - 1;
	for (uint32_t epoch = 0; epoch < SAMPLER_EPOCHS; epoch++) {
		sampler->bpf->bss->control.snapshot_base[epoch] = epoch * n_cpus * options->n_snapshots;
		sampler->bpf->bss->control.stack_base[epoch] = epoch * n_cpus * options->n_stacks;
	}
	sampler->n_all_buckets = n_buckets;
	sampler->n_all_moved = n_moved;
}

/* Of both epochs. At least one: the map has to be. */
static size_t n_all_snapshots(const struct sampler *sampler)
{
	return MAX((size_t)sampler->n_possible * SAMPLER_EPOCHS * sampler->options.n_snapshots, (size_t)1);
}

static size_t n_all_stacks(const struct sampler *sampler)
{
	return MAX((size_t)sampler->n_possible * SAMPLER_EPOCHS * sampler->options.n_stacks, (size_t)1);
}

/* Init's mount namespace is the host's; a service manager may have given us one of our own. */
static uint32_t host_space(void)
{
	struct stat st;

	if (stat("/proc/1/ns/mnt", &st) < 0 && stat("/proc/self/ns/mnt", &st) < 0)
		return 0;
	return (uint32_t)st.st_ino;
}

static int configure(struct sampler *sampler, struct fault *reterr)
{
	const struct sampler_options *options = &sampler->options;
	struct sampler_bpf *bpf = sampler->bpf;
	bool is_tick = options->source == SAMPLE_SOURCE_TICK;
	int r = 0;

	if (is_tick) {
		r = tick_hook_find(NULL, NULL, &sampler->hook, reterr);
		if (r < 0)
			return r;
		bpf->bss->control.tick_function = sampler->hook.function;
		bpf->bss->control.irq_regs_distance = sampler->hook.irq_regs_distance;
	}
	bpf->bss->control.clock_table = is_tick ? SAMPLER_REFERENCE : SAMPLER_MAIN;
	bpf->bss->control.page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	bpf->bss->control.no_cache = options->no_cache;
	bpf->rodata->takes_owners = options->owners;
	bpf->rodata->takes_stacks = options->n_stacks > 0;
	bpf->bss->control.host_space = host_space();
	bpf_program__set_autoload(bpf->progs.on_tick, is_tick);
	bpf_program__set_autoload(bpf->progs.on_clock, !is_tick || options->has_reference);
	bpf_program__set_autoload(bpf->progs.on_exec, !options->no_lifecycle);
	bpf_program__set_autoload(bpf->progs.on_exit, !options->no_lifecycle);
	bpf_program__set_autoload(bpf->progs.on_signal, !options->no_lifecycle);
	bpf_program__set_autoattach(bpf->progs.on_exec, false);
	bpf_program__set_autoattach(bpf->progs.on_exit, false);
	layout(sampler);
	if (bpf_map__set_max_entries(bpf->maps.states, (uint32_t)sampler->n_possible * SAMPLER_TABLES) < 0 ||
	    bpf_map__set_max_entries(bpf->maps.buckets, (uint32_t)sampler->n_all_buckets) < 0 ||
	    bpf_map__set_max_entries(bpf->maps.moved, (uint32_t)sampler->n_all_moved) < 0 ||
	    bpf_map__set_max_entries(bpf->maps.snapshots, (uint32_t)n_all_snapshots(sampler)) < 0 ||
	    bpf_map__set_max_entries(bpf->maps.stacks, (uint32_t)n_all_stacks(sampler)) < 0)
		r = -EINVAL;
	return r < 0 ? fault_errno(reterr, r, "size of the sampler's tables") : 0;
}

/* The kernel's tables, in our address space: draining copies nothing and calls nothing. */
static void *map_memory(const struct bpf_map *map, size_t n, size_t size)
{
	void *p = mmap(NULL, n * size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

static int memory_reserve(struct sampler *sampler)
{
	sampler->n_possible = libbpf_num_possible_cpus();
	if (sampler->n_possible <= 0)
		return -EINVAL;
	sampler->n_clocks = (unsigned)sampler->n_possible;
	sampler->clocks = calloc(sampler->n_clocks, sizeof(*sampler->clocks));
	sampler->per_cpu = calloc((size_t)sampler->n_possible, sizeof(*sampler->per_cpu));
	sampler->taken = calloc((size_t)sampler->n_possible * sampler->options.n_snapshots + 1,
				sizeof(*sampler->taken));
	sampler->stacks_taken = calloc((size_t)sampler->n_possible * sampler->options.n_stacks + 1,
				       sizeof(*sampler->stacks_taken));
	if (!sampler->clocks || !sampler->per_cpu || !sampler->taken || !sampler->stacks_taken)
		return -ENOMEM;
	for (unsigned i = 0; i < sampler->n_clocks; i++)
		sampler->clocks[i] = -1;
	return 0;
}

static int on_event(void *context, void *data, size_t size)
{
	struct sampler *sampler = context;

	if (size >= sizeof(struct sampler_event) && sampler->each)
		sampler->each(data, size, sampler->closure);
	return 0;
}

static int load(struct sampler *sampler, struct fault *reterr)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	/*
	 * Types that this kernel does not have are looked for in its modules otherwise, and libbpf before 1.5 gives up when it
	 * may not: that takes CAP_SYS_ADMIN, which morph-monitor.service has not got.
	 */
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = "/sys/kernel/btf/vmlinux");
	int r;

	/* Before 5.11 map memory counted against this limit; refusal is no harm on newer kernels. */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	explanation[0] = '\0';
	libbpf_set_print(explain);
	sampler->bpf = sampler_bpf__open_opts(&options);
	if (!sampler->bpf)
		return refusal(-errno, "open the sampler's programs", reterr);
	r = configure(sampler, reterr);
	if (r < 0)
		return r;
	r = sampler_bpf__load(sampler->bpf);
	if (r < 0)
		return refusal(r, "load the sampler's programs", reterr);
	r = sampler_bpf__attach(sampler->bpf);
	if (r < 0)
		return refusal(r, "attach the sampler's programs", reterr);
	sampler->states = map_memory(sampler->bpf->maps.states, (size_t)sampler->n_possible * SAMPLER_TABLES,
				     sizeof(*sampler->states));
	sampler->buckets =
		map_memory(sampler->bpf->maps.buckets, sampler->n_all_buckets, sizeof(*sampler->buckets));
	sampler->moved = map_memory(sampler->bpf->maps.moved, sampler->n_all_moved, sizeof(*sampler->moved));
	sampler->snapshots = map_memory(sampler->bpf->maps.snapshots, n_all_snapshots(sampler),
					sizeof(*sampler->snapshots));
	sampler->stacks =
		map_memory(sampler->bpf->maps.stacks, n_all_stacks(sampler), sizeof(*sampler->stacks));
	if (!sampler->states || !sampler->buckets || !sampler->moved || !sampler->snapshots ||
	    !sampler->stacks)
		return refusal(-errno, "map the sampler's tables", reterr);
	sampler->ring = ring_buffer__new(bpf_map__fd(sampler->bpf->maps.events), on_event, sampler, NULL);
	if (!sampler->ring)
		return refusal(-errno, "map the sampler's ring buffer", reterr);
	r = ring_buffer__add(sampler->ring, bpf_map__fd(sampler->bpf->maps.life_events), on_event, sampler);
	return r < 0 ? refusal(r, "map the sampler's ring buffer", reterr) : 0;
}

static int clocks_open(struct sampler *sampler, struct fault *reterr)
{
	struct perf_options options = { .clock = PERF_CLOCK_CPU };
	struct cpu_list online;
	double rate_hz = sampler->options.rate_hz;

	if (sampler->options.source == SAMPLE_SOURCE_CYCLES)
		options.clock = PERF_CLOCK_CYCLES;
	options.period = 1000000000u;
	perf_attr_fill(&options, &sampler->clock);
	if (sampler->options.source == SAMPLE_SOURCE_TICK)
		return 0; /* whoever opened us sets the reference's rate */
	cpu_list_online(&online);
	for (unsigned cpu = 0; cpu <= online.highest; cpu++) {
		int r = cpu_list_has(&online, cpu) ? sampler_set_clock(sampler, cpu, rate_hz) : 0;

		if (r < 0)
			return perf_event_refusal(r, options.clock, reterr);
	}
	return 0;
}

/*
 * Does the tick really come through the hook? A kernel without high-resolution timers has the handler,
 * but no hrtimer to call it. Spinning keeps the tick of this CPU running.
 */
static int tick_prove(struct sampler *sampler, struct fault *reterr)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);

	if (sampler->options.source != SAMPLE_SOURCE_TICK)
		return 0;
	while (clock_ns(CLOCK_MONOTONIC) - start < TICK_PROOF_NS)
		if (sampler_fired(sampler) > 0)
			return 0;
	return fault_set(reterr, -ENODEV,
			 "the scheduler tick does not come through %s (no high-resolution "
			 "timers?)",
			 sampler->hook.name);
}

int sampler_open(const struct sampler_options *options, struct sampler **ret, struct fault *reterr)
{
	_clean_(sampler_freep) struct sampler *sampler = calloc(1, sizeof(*sampler));
	int r;

	if (!sampler)
		return fault_errno(reterr, -ENOMEM, "sampler");
	sampler->options = *options;
	r = memory_reserve(sampler);
	if (r < 0)
		return fault_errno(reterr, r, "sampler");
	r = load(sampler, reterr);
	if (r == 0)
		r = clocks_open(sampler, reterr);
	if (r == 0)
		r = tick_prove(sampler, reterr);
	if (r < 0)
		return r;
	*ret = TAKE(sampler);
	return 0;
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler)
		return;
	for (unsigned i = 0; sampler->clocks && i < sampler->n_clocks; i++)
		if (sampler->clocks[i] >= 0)
			close(sampler->clocks[i]);
	if (sampler->ring)
		ring_buffer__free(sampler->ring);
	if (sampler->states)
		munmap(sampler->states,
		       (size_t)sampler->n_possible * SAMPLER_TABLES * sizeof(*sampler->states));
	if (sampler->buckets)
		munmap(sampler->buckets, sampler->n_all_buckets * sizeof(*sampler->buckets));
	if (sampler->moved)
		munmap(sampler->moved, sampler->n_all_moved * sizeof(*sampler->moved));
	if (sampler->snapshots)
		munmap(sampler->snapshots, n_all_snapshots(sampler) * sizeof(*sampler->snapshots));
	if (sampler->stacks)
		munmap(sampler->stacks, n_all_stacks(sampler) * sizeof(*sampler->stacks));
	if (sampler->bpf)
		sampler_bpf__destroy(sampler->bpf);
	free(sampler->clocks);
	free(sampler->per_cpu);
	free(sampler->taken);
	free(sampler->stacks_taken);
	free(sampler->rows);
	free(sampler);
}

int sampler_probe(struct fault *reterr)
{
	struct sampler_options options = { .source = SAMPLE_SOURCE_TICK, .n_main_rows = PROBE_ROWS };
	_clean_(sampler_freep) struct sampler *sampler = NULL;
	int r = sampler_open(&options, &sampler, reterr);

	if (r == 0)
		return 0;
	options.source = SAMPLE_SOURCE_CPU_CLOCK;
	options.rate_hz = 1;
	return sampler_open(&options, &sampler, reterr);
}
