/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/bpf/sampler_load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "base/bytes.h"
#include "monitor/bpf/sampler.skel.h"
#include "monitor/bpf/tick_hook.h"
#include "monitor/machine/cpu_list.h"
#include "monitor/machine/perf_event.h"

#define MIN_ROWS 256u
#define MAX_ROWS (1u << 20)
#define BUCKETS_PER_ROW 4	 /* rows to one bucket: half of the rows fit, the others move */
#define TICK_PROOF_NS 250000000u /* how long the tick may take to show itself */
#define PROBE_ROWS 256u

struct sampler {
	struct sampler_bpf *bpf; /* owned */
	struct ring_buffer *ring;
	struct sampler_options options;
	struct tick_hook hook;
	struct perf_event_attr clock;
	int *clocks; /* owned; event per CPU, -1: none */
	unsigned n_clocks;
	int n_possible;
	struct sampler_counters *per_cpu; /* owned; n_possible */
	struct sampler_row *rows;	  /* owned */
	size_t n_rows, capacity;
	struct sampler_state *states; /* the kernel's own, mapped */
	struct sampler_bucket *buckets;
	struct sampler_moved *moved;
	struct sampler_snapshot *snapshots;
	struct sampler_snapshot *taken; /* owned; of the last drain */
	size_t n_all_buckets, n_all_moved;
	void (*each)(const struct sampler_event *event, size_t size, void *closure);
	void *closure;
};

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
		sampler->bpf->bss->control.n_moved[table] = rows;
		for (uint32_t epoch = 0; epoch < SAMPLER_EPOCHS; epoch++) {
			sampler->bpf->bss->control.bucket_base[table * SAMPLER_EPOCHS + epoch] = n_buckets;
			sampler->bpf->bss->control.moved_base[table * SAMPLER_EPOCHS + epoch] = n_moved;
			n_buckets += n_cpus * (rows / BUCKETS_PER_ROW);
			n_moved += n_cpus * rows;
		}
	}
	sampler->bpf->bss->control.n_snapshots = options->n_snapshots;
	sampler->bpf->bss->control.snapshot_mask = MAX(options->snapshot_every, 1u) - 1;
	for (uint32_t epoch = 0; epoch < SAMPLER_EPOCHS; epoch++)
		sampler->bpf->bss->control.snapshot_base[epoch] = epoch * n_cpus * options->n_snapshots;
	sampler->n_all_buckets = n_buckets;
	sampler->n_all_moved = n_moved;
}

/* Of both epochs. At least one: the map has to be. */
static size_t n_all_snapshots(const struct sampler *sampler)
{
	return MAX((size_t)sampler->n_possible * SAMPLER_EPOCHS * sampler->options.n_snapshots, (size_t)1);
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
	    bpf_map__set_max_entries(bpf->maps.snapshots, (uint32_t)n_all_snapshots(sampler)) < 0)
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
	if (!sampler->clocks || !sampler->per_cpu || !sampler->taken)
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
	int r;

	/* Before 5.11 map memory counted against this limit; refusal is no harm on newer kernels. */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	explanation[0] = '\0';
	libbpf_set_print(explain);
	sampler->bpf = sampler_bpf__open();
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
	if (!sampler->states || !sampler->buckets || !sampler->moved || !sampler->snapshots)
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

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct sampler_counters *counters_of(struct sampler *sampler, uint32_t set, int cpu)
{
	struct sampler_state *state = &sampler->states[(uint32_t)cpu * SAMPLER_TABLES + set / SAMPLER_EPOCHS];

	return &state->counters[set % SAMPLER_EPOCHS];
}

static void counters_read(struct sampler *sampler, uint32_t set, struct sampler_counters *ret)
{
	*ret = (struct sampler_counters){ 0 };
	for (int cpu = 0; cpu < sampler->n_possible; cpu++) {
		sampler->per_cpu[cpu] = *counters_of(sampler, set, cpu);
		for (unsigned i = 0; i < SAMPLER_COUNTERS; i++)
			ret->n[i] += sampler->per_cpu[cpu].n[i];
	}
}

static uint64_t fired_so_far(struct sampler *sampler)
{
	struct sampler_counters counters;

	counters_read(sampler, SAMPLER_MAIN * SAMPLER_EPOCHS + sampler->bpf->bss->control.epoch[SAMPLER_MAIN],
		      &counters);
	return counters.n[SAMPLER_FIRED];
}

/*
 * Does the tick really come through the hook? A kernel without high-resolution timers has the handler,
 * but no hrtimer to call it. Spinning keeps the tick of this CPU running.
 */
static int tick_prove(struct sampler *sampler, struct fault *reterr)
{
	uint64_t start = now_ns();

	if (sampler->options.source != SAMPLE_SOURCE_TICK)
		return 0;
	while (now_ns() - start < TICK_PROOF_NS)
		if (fired_so_far(sampler) > 0)
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
	if (sampler->bpf)
		sampler_bpf__destroy(sampler->bpf);
	free(sampler->clocks);
	free(sampler->per_cpu);
	free(sampler->taken);
	free(sampler->rows);
	free(sampler);
}

/* --- draining ------------------------------------------------------------------------------------- */

static int rows_reserve(struct sampler *sampler, size_t n)
{
	void *rows;

	if (n <= sampler->capacity)
		return 0;
	rows = reallocarray(sampler->rows, n, sizeof(*sampler->rows));
	if (!rows)
		return -ENOMEM;
	sampler->rows = rows;
	sampler->capacity = n;
	return 0;
}

static size_t buckets_count(const struct sampler_bucket *buckets, size_t n)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		for (unsigned way = 0; way < SAMPLER_WAYS; way++)
			used += buckets[i].counts[way] != 0;
	return used;
}

static void row_put(struct sampler *sampler, const struct sampler_key *key, uint32_t count)
{
	sampler->rows[sampler->n_rows++] = (struct sampler_row){ *key, count };
}

/* No program uses this set any more, so it is ours. What it holds of @cpu is taken and cleared. */
static int cpu_take(struct sampler *sampler, uint32_t table, uint32_t set, uint32_t cpu)
{
	uint32_t n_buckets = sampler->bpf->bss->control.n_buckets[table];
	uint32_t n_moved = sampler->bpf->bss->control.n_moved[table];
	struct sampler_bucket *buckets =
		sampler->buckets + sampler->bpf->bss->control.bucket_base[set] + (size_t)cpu * n_buckets;
	const struct sampler_moved *moved =
		sampler->moved + sampler->bpf->bss->control.moved_base[set] + (size_t)cpu * n_moved;
	size_t used = MIN(sampler->per_cpu[cpu].n[SAMPLER_MOVED], (uint64_t)n_moved);
	int r = rows_reserve(sampler, sampler->n_rows + used + buckets_count(buckets, n_buckets));

	if (r < 0)
		return r;
	for (size_t i = 0; i < used; i++)
		row_put(sampler, &moved[i].key, moved[i].count);
	for (size_t i = 0; i < n_buckets; i++)
		for (unsigned way = 0; way < SAMPLER_WAYS; way++)
			if (buckets[i].counts[way]) {
				row_put(sampler, &buckets[i].keys[way], buckets[i].counts[way]);
				buckets[i].counts[way] = 0;
			}
	return 0;
}

static int rows_take(struct sampler *sampler, uint32_t table, uint32_t set, double *retfill)
{
	int r = 0;

	sampler->n_rows = 0;
	*retfill = 0;
	for (int cpu = 0; r == 0 && cpu < sampler->n_possible; cpu++) {
		const __u64 *n = sampler->per_cpu[cpu].n;

		/* The list only gets longer, and is what fills. */
		*retfill =
			MAX(*retfill, (double)n[SAMPLER_MOVED] / sampler->bpf->bss->control.n_moved[table]);
		if (n[SAMPLER_FIRED])
			r = cpu_take(sampler, table, set, (uint32_t)cpu);
	}
	return r;
}

/* All CPUs' one after the other; the kernel side's are forgotten, for they are somebody's secrets. */
static size_t snapshots_take(struct sampler *sampler, uint32_t epoch)
{
	size_t per_cpu = sampler->options.n_snapshots, n = 0;

	for (size_t cpu = 0; cpu < (size_t)sampler->n_possible; cpu++) {
		uint64_t *n_here =
			(uint64_t *)&sampler->states[cpu * SAMPLER_TABLES + SAMPLER_MAIN].n_snapshots[epoch];
		struct sampler_snapshot *from =
			sampler->snapshots + (epoch * (size_t)sampler->n_possible + cpu) * per_cpu;
		size_t used = MIN((size_t)*n_here, per_cpu);

		memcpy(sampler->taken + n, from, used * sizeof(*from));
		memset(from, 0, used * sizeof(*from));
		*n_here = 0;
		n += used;
	}
	return n;
}

static void counters_zero(struct sampler *sampler, uint32_t set)
{
	for (int cpu = 0; cpu < sampler->n_possible; cpu++)
		*counters_of(sampler, set, cpu) = (struct sampler_counters){ 0 };
}

/*
 * Change the epoch, then update a map of maps (with what is there already): for such maps the kernel
 * waits for a grace period before it returns, after which all programs see the new epoch.
 */
static int epoch_change(struct sampler *sampler, enum sampler_table table, uint32_t *retset)
{
	volatile uint32_t *epoch = &sampler->bpf->bss->control.epoch[table];
	uint32_t old = *epoch, zero = 0;
	int fd = bpf_map__fd(sampler->bpf->maps.fence_inner);

	*epoch = !old;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*retset = table * SAMPLER_EPOCHS + old;
	return bpf_map_update_elem(bpf_map__fd(sampler->bpf->maps.fence), &zero, &fd, BPF_ANY) < 0 ? -errno :
												     0;
}

int sampler_drain(struct sampler *sampler, enum sampler_table table, struct sampler_drained *ret,
		  struct fault *reterr)
{
	struct sampler_drained drained = { 0 };
	uint32_t set;
	int r = epoch_change(sampler, table, &set);

	if (r == 0) {
		counters_read(sampler, set, &drained.counters);
		r = rows_take(sampler, table, set, &drained.fill);
	}
	if (r < 0)
		return fault_errno(reterr, r, "cannot drain the sampler's tables");
	counters_zero(sampler, set);
	drained.rows = sampler->rows;
	drained.n_rows = sampler->n_rows;
	drained.per_cpu = sampler->per_cpu;
	if (table == SAMPLER_MAIN) {
		drained.snapshots = sampler->taken;
		drained.n_snapshots = snapshots_take(sampler, set % SAMPLER_EPOCHS);
	}
	*ret = drained;
	return 0;
}

static int law(const char *equation, uint64_t left, uint64_t right, struct fault *reterr)
{
	if (left == right)
		return 0;
	return fault_set(reterr, -ERANGE,
			 "the sampler's counters do not add up: %s, but %" PRIu64 " is not %" PRIu64,
			 equation, left, right);
}

int sampler_check(const struct sampler_drained *drained, struct fault *reterr)
{
	const __u64 *n = drained->counters.n;
	uint64_t files = 0, anonymous = 0, kernel = 0;
	int r;

	for (size_t i = 0; i < drained->n_rows; i++) {
		const struct sampler_row *row = &drained->rows[i];

		if (row->key.module == SAMPLER_VDSO || row->key.module >= SAMPLER_UNTOLD)
			files += row->count;
		else if (row->key.module == SAMPLER_KERNEL)
			kernel += row->count;
		else
			anonymous += row->count;
	}
	r = law("fired = idle + kernel + user", n[SAMPLER_FIRED],
		n[SAMPLER_IDLE] + n[SAMPLER_KERNEL_MODE] + n[SAMPLER_USER_MODE], reterr);
	if (r == 0)
		r = law("user = attributed + anonymous + losses", n[SAMPLER_USER_MODE],
			n[SAMPLER_ATTRIBUTED] + n[SAMPLER_ANONYMOUS_CODE] + n[SAMPLER_NO_MAPPING] +
				n[SAMPLER_RACE] + n[SAMPLER_USER_FULL],
			reterr);
	if (r == 0)
		r = law("attributed = drained", n[SAMPLER_ATTRIBUTED], files, reterr);
	if (r == 0)
		r = law("anonymous = drained", n[SAMPLER_ANONYMOUS_CODE], anonymous, reterr);
	if (r == 0)
		r = law("kernel stored = drained", n[SAMPLER_KERNEL_STORED], kernel, reterr);
	if (r == 0)
		r = law("kernel = stored + table full", n[SAMPLER_KERNEL_MODE],
			n[SAMPLER_KERNEL_STORED] + n[SAMPLER_KERNEL_FULL], reterr);
	return r;
}

/* --- events --------------------------------------------------------------------------------------- */

int sampler_events_fd(const struct sampler *sampler)
{
	return ring_buffer__epoll_fd(sampler->ring);
}

int sampler_events(struct sampler *sampler,
		   void (*each)(const struct sampler_event *event, size_t size, void *closure), void *closure)
{
	sampler->each = each;
	sampler->closure = closure;
	return ring_buffer__consume(sampler->ring);
}

void sampler_flush(struct sampler *sampler)
{
	__atomic_fetch_add(&sampler->bpf->bss->control.cache_flushes, 1, __ATOMIC_RELEASE);
}

void sampler_forget(struct sampler *sampler, const struct sampler_file *file)
{
	bpf_map_delete_elem(bpf_map__fd(sampler->bpf->maps.announced), file);
	/* What is cached per CPU would never be announced. */
	sampler_flush(sampler);
}

void sampler_forget_all(struct sampler *sampler)
{
	struct sampler_file file, next;
	int fd = bpf_map__fd(sampler->bpf->maps.announced);

	while (bpf_map_get_next_key(fd, NULL, &next) == 0) {
		file = next;
		if (bpf_map_delete_elem(fd, &file) < 0 && errno != ENOENT)
			break;
	}
	sampler_flush(sampler);
}

int sampler_untold(struct sampler *sampler,
		   int (*each)(uint32_t user, const struct sampler_share *share, void *closure),
		   void *closure)
{
	int fd = bpf_map__fd(sampler->bpf->maps.shares), r = 0;
	uint32_t user, next, *previous = NULL;

	for (unsigned i = 0;
	     r == 0 && i < SAMPLER_MAX_USERS && bpf_map_get_next_key(fd, previous, &next) == 0; i++) {
		struct sampler_share share, kept;

		user = next;
		previous = &user;
		if (bpf_map_lookup_elem(fd, &user, &share) < 0 ||
		    !(share.files_untold || share.deaths_untold || share.starts_untold))
			continue;
		/* What is counted in between is lost; it only tells that there was more. */
		kept = share;
		kept.files_untold = kept.deaths_untold = kept.starts_untold = 0;
		bpf_map_update_elem(fd, &user, &kept, BPF_EXIST);
		r = each(user, &share, closure);
	}
	return r;
}

/* The first program to watch makes starts and ends interesting. */
static int lifecycle_attach(struct sampler *sampler)
{
	struct sampler_bpf *bpf = sampler->bpf;

	if (sampler->options.no_lifecycle)
		return 0;
	if (!bpf->links.on_exec)
		bpf->links.on_exec = bpf_program__attach(bpf->progs.on_exec);
	if (bpf->links.on_exec && !bpf->links.on_exit)
		bpf->links.on_exit = bpf_program__attach(bpf->progs.on_exit);
	return bpf->links.on_exit ? 0 : -errno;
}

int sampler_watch(struct sampler *sampler, const struct sampler_inode *inode, bool on)
{
	struct sampler_inode key = *inode;
	int fd = bpf_map__fd(sampler->bpf->maps.watched), r = on ? lifecycle_attach(sampler) : 0;
	uint32_t one = 1;

	if (r < 0)
		return r;
	key.device = 0;
	r = on ? bpf_map_update_elem(fd, &key, &one, BPF_ANY) : bpf_map_delete_elem(fd, &key);
	return r < 0 && !(errno == ENOENT && !on) ? -errno : 0;
}

/* --- clocks --------------------------------------------------------------------------------------- */

unsigned sampler_n_cpus(const struct sampler *sampler)
{
	return (unsigned)sampler->n_possible;
}

int sampler_set_tick(struct sampler *sampler, bool on)
{
	struct bpf_link **link = &sampler->bpf->links.on_tick;

	if (on && !*link) {
		*link = bpf_program__attach(sampler->bpf->progs.on_tick);
		return *link ? 0 : -errno;
	}
	if (!on && *link) {
		bpf_link__destroy(*link);
		*link = NULL;
	}
	return 0;
}

void sampler_set_tick_divisor(struct sampler *sampler, unsigned divisor)
{
	*(volatile uint32_t *)&sampler->bpf->bss->control.tick_divisor = MAX(divisor, 1u);
}

bool sampler_has_kernel_addresses(const struct sampler *sampler)
{
	return sampler->options.source != SAMPLE_SOURCE_TICK || sampler->hook.irq_regs_distance;
}

static uint64_t period_of(const struct sampler *sampler, double rate_hz)
{
	double unit = sampler->options.source == SAMPLE_SOURCE_CYCLES ? cpu_hz() : 1e9;

	return (uint64_t)(unit / rate_hz + 0.5);
}

static int clock_open(struct sampler *sampler, unsigned cpu)
{
	int fd = perf_event_open_fd(&sampler->clock, -1, (int)cpu, 0);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(sampler->bpf->progs.on_clock)) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	sampler->clocks[cpu] = fd;
	return 0;
}

int sampler_set_clock(struct sampler *sampler, unsigned cpu, double rate_hz)
{
	uint64_t period = rate_hz > 0 ? period_of(sampler, rate_hz) : 0;
	int r = 0;

	if (cpu >= sampler->n_clocks)
		return -EINVAL;
	if (sampler->clocks[cpu] < 0)
		r = period ? clock_open(sampler, cpu) : 0;
	if (r < 0 || sampler->clocks[cpu] < 0)
		return r;
	if (!period)
		return ioctl(sampler->clocks[cpu], PERF_EVENT_IOC_DISABLE, 0) < 0 ? -errno : 0;
	if (ioctl(sampler->clocks[cpu], PERF_EVENT_IOC_PERIOD, &period) < 0 ||
	    ioctl(sampler->clocks[cpu], PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return 0;
}

int sampler_reopen_clock(struct sampler *sampler, unsigned cpu)
{
	if (cpu >= sampler->n_clocks)
		return -EINVAL;
	if (sampler->clocks[cpu] >= 0)
		close(sampler->clocks[cpu]);
	sampler->clocks[cpu] = -1;
	return clock_open(sampler, cpu);
}

int sampler_run_time(const struct sampler *sampler, uint64_t *retruns, uint64_t *retns)
{
	bool is_tick = sampler->options.source == SAMPLE_SOURCE_TICK;
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd = bpf_program__fd(is_tick ? sampler->bpf->progs.on_tick : sampler->bpf->progs.on_clock);

	if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return -errno;
	*retruns = info.run_cnt;
	*retns = info.run_time_ns;
	return 0;
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
