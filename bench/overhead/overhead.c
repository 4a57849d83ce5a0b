/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-overhead - what sampling costs, measured from outside of the sampler
 *
 *	slices SECONDS KIND...	the same work, in slices with and without sampling, one pair of each kind per
 *				round, in random order: off, tick, default, stacks, clock:HZ, perf:HZ; KIND/N: only in
 *				every N-th round
 *	program SECONDS [nocache | owners | stacks] time in the tick's program, per tick, by the kernel's BPF statistics
 *	outside PID SECONDS	what a running monitor costs: its programs, by the same statistics; its process
 *	wakeups SECONDS ROUNDS KIND...	timer interrupts and idle entries of the idlest CPU
 *	agree SECONDS HZ	identification against bpf_find_vma()
 *
 * Each prints one JSON object.
 */

#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/json.h"
#include "bench/overhead/agree.h"
#include "base/stats.h"
#include "bench/measure/commands.h"
#include "bench/overhead/ways.h"
#include "bench/overhead/work.h"
#include "monitor/bpf/sampler_load.h"
#include "monitor/clock/budget.h"
#include "monitor/machine/cpu_list.h"
#include "monitor/machine/perf_event.h"

#include "bench/overhead/agree.skel.h" /* uses types of sampler.h */

#define SLICE_WORK 7000000L
#define MAX_KINDS 16
#define SETTLE_US 4000 /* a sleep before every slice, since some ways of switching sleep and some do not */
#define DRAIN_EVERY 64

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* --- slices --------------------------------------------------------------------------------------- */

static double slice_s(void)
{
	double start = now_s(CLOCK_PROCESS_CPUTIME_ID);

	work(SLICE_WORK);
	return now_s(CLOCK_PROCESS_CPUTIME_ID) - start;
}

/* CPU time with sampling / without, of one pair in random order. */
static int pair(struct kind *kind, struct stats_random *random, double *ret)
{
	double cpu_s[2];
	bool first = stats_random_next(random) >> 40 & 1;

	for (int i = 0; i < 2; i++) {
		bool on = first ^ i;
		int r = kind_switch(kind, on);

		if (r < 0)
			return r;
		usleep(SETTLE_US);
		work(SLICE_WORK / 10);
		cpu_s[on] = slice_s();
	}
	kind_switch(kind, false);
	if (kind->n_values % DRAIN_EVERY == 0)
		kind_drain(kind);
	*ret = 100 * (cpu_s[1] / cpu_s[0] - 1);
	return 0;
}

static int slices_run(struct kind *kinds, size_t n_kinds, double seconds, struct fault *reterr)
{
	struct stats_random random = { (uint64_t)(now_s(CLOCK_REALTIME) * 1e6) | 1 };
	double end = now_s(CLOCK_MONOTONIC) + seconds;
	size_t order[MAX_KINDS];

	slice_s();
	for (size_t round = 0; round < WAYS_ROUNDS_MAX && now_s(CLOCK_MONOTONIC) < end; round++) {
		stats_shuffle(&random, order, n_kinds);
		for (size_t i = 0; i < n_kinds; i++) {
			struct kind *kind = &kinds[order[i]];
			int r = round % kind->every ? 0 :
						      pair(kind, &random, &kind->values[kind->n_values++]);

			if (r < 0)
				return fault_errno(reterr, r, "%s: cannot be switched", kind->name);
		}
	}
	return 0;
}

static int slices_print(const struct kind *kinds, size_t n_kinds, struct fault *reterr)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_array_begin(&json, "kinds");
	for (size_t k = 0; k < n_kinds; k++) {
		struct stats_summary s;
		int r = stats_summarize(kinds[k].values, kinds[k].n_values, 1, &s, reterr);

		if (r < 0)
			return r;
		json_object_begin(&json, NULL);
		json_string(&json, "name", kinds[k].name);
		json_u64(&json, "rounds", kinds[k].n_values);
		json_double(&json, "percent", s.median);
		json_double(&json, "low", s.low);
		json_double(&json, "high", s.high);
		json_double(&json, "q1", s.q1);
		json_double(&json, "q3", s.q3);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	return 0;
}

static int kinds_open(char **names, size_t n, struct kind *kinds, size_t *retn, struct fault *reterr)
{
	for (*retn = 0; *retn < n; ++*retn) {
		int r = kind_open(names[*retn], &kinds[*retn], reterr);

		if (r < 0) {
			++*retn;
			return r;
		}
		r = kind_switch(&kinds[*retn], false);
		if (r < 0)
			return fault_errno(reterr, r, "%s", names[*retn]);
	}
	return 0;
}

static int slices(int argc, char **argv, struct fault *reterr)
{
	struct kind kinds[MAX_KINDS];
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 0;
	size_t n_kinds = 0;
	struct cpu_list online;
	int r;

	if (seconds <= 0 || argc < 4 || argc > 3 + MAX_KINDS)
		return fault_set(reterr, -EINVAL, "slices SECONDS KIND...");
	cpu_list_online(&online);
	r = kinds_open(argv + 3, (size_t)argc - 3, kinds, &n_kinds, reterr);
	if (r == 0 && pin((int)online.highest) < 0)
		r = fault_errno(reterr, -errno, "cannot stay on one CPU");
	if (r == 0)
		r = slices_run(kinds, n_kinds, seconds, reterr);
	if (r == 0)
		r = slices_print(kinds, n_kinds, reterr);
	while (n_kinds)
		kind_close(&kinds[--n_kinds]);
	return r;
}

/* --- program -------------------------------------------------------------------------------------- */

#define WINDOWS 10u

struct window {
	double ns_per_tick[WINDOWS];
	uint64_t last_runs, last_ns; /* read just before the last drain began: counters and times agree */
	uint64_t runs, ns, n[SAMPLER_COUNTERS], rows;
};

/* One window; the hypervisor takes a CPU away in some of them, in the middle of our program too. */
static int window_run(struct sampler *sampler, double seconds, unsigned i, struct window *ret,
		      struct fault *reterr)
{
	struct sampler_drained drained;
	uint64_t runs, ns;
	int r;

	sleep_s(seconds);
	r = sampler_run_time(sampler, &runs, &ns);
	if (r == 0)
		r = sampler_drain(sampler, SAMPLER_MAIN, &drained, reterr);
	if (r < 0)
		return r;
	sampler_events(sampler, NULL, NULL);
	ret->ns_per_tick[i] =
		(double)(ns - ret->last_ns) / (double)MAX(drained.counters.n[SAMPLER_FIRED], 1u);
	ret->runs += runs - ret->last_runs;
	ret->ns += ns - ret->last_ns;
	ret->last_runs = runs;
	ret->last_ns = ns;
	ret->rows += drained.n_rows;
	for (unsigned k = 0; k < SAMPLER_COUNTERS; k++)
		ret->n[k] += drained.counters.n[k];
	return 0;
}

static int program(int argc, char **argv, struct fault *reterr)
{
	const char *how = argc > 3 ? argv[3] : "";
	struct sampler_options options = { .source = SAMPLE_SOURCE_TICK,
					   .n_main_rows = 16384,
					   .n_snapshots = WAYS_SNAPSHOTS,
					   .snapshot_every = WAYS_SNAPSHOT_EVERY,
					   .no_lifecycle = true,
					   .no_cache = strcmp(how, "nocache") == 0,
					   .owners = strcmp(how, "owners") == 0,
					   .n_stacks = strcmp(how, "stacks") == 0 ? WAYS_STACKS : 0 };
	_clean_(sampler_freep) struct sampler *sampler = NULL;
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 0;
	_clean_(fd_closep) int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	struct sampler_drained drained;
	struct json json = json_to(stdout);
	struct window sum = { 0 };
	int r;

	if (seconds <= 0 || stats < 0)
		return fault_set(reterr, -EINVAL, "program SECONDS, as root");
	r = sampler_open(&options, &sampler, reterr);
	if (r < 0)
		return r;
	sleep_s(0.5); /* modules are announced */
	sampler_events(sampler, NULL, NULL);
	r = sampler_run_time(sampler, &sum.last_runs, &sum.last_ns);
	if (r == 0)
		r = sampler_drain(sampler, SAMPLER_MAIN, &drained, reterr);
	for (unsigned i = 0; r == 0 && i < WINDOWS; i++)
		r = window_run(sampler, seconds / WINDOWS, i, &sum, reterr);
	if (r < 0)
		return r;
	json_object_begin(&json, NULL);
	json_double(&json, "ns_per_tick", budget_median(sum.ns_per_tick, WINDOWS));
	json_double(&json, "ns_per_tick_mean", (double)sum.ns / (double)MAX(sum.n[SAMPLER_FIRED], 1u));
	json_double(&json, "ns_per_run", (double)sum.ns / (double)MAX(sum.runs, 1u));
	json_u64(&json, "ticks", sum.n[SAMPLER_FIRED]);
	json_u64(&json, "runs", sum.runs);
	json_u64(&json, "user", sum.n[SAMPLER_USER_MODE]);
	json_u64(&json, "kernel", sum.n[SAMPLER_KERNEL_MODE]);
	json_u64(&json, "idle", sum.n[SAMPLER_IDLE]);
	json_u64(&json, "cache_hits", sum.n[SAMPLER_CACHE_HITS]);
	json_u64(&json, "races", sum.n[SAMPLER_RACE]);
	json_u64(&json, "rows", sum.rows);
	json_object_end(&json);
	return 0;
}

/* --- outside -------------------------------------------------------------------------------------- */

#define MAX_PROGRAMS 16u

struct expense {
	double programs_s, process_s; /* CPU time so far */
	uint64_t clock_runs;
};

/* The BPF programs that @pid holds, as descriptors of ours; how many. */
static size_t programs_of(pid_t pid, int ret[MAX_PROGRAMS])
{
	char path[64], entry[320], line[128];
	struct dirent *file;
	unsigned id;
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	dir = opendir(path);
	while (dir && n < MAX_PROGRAMS && (file = readdir(dir))) {
		FILE *info;

		/* A link names its program too: count only the program's own descriptor. */
		snprintf(entry, sizeof(entry), "%s/%s", path, file->d_name);
		info = fopen(entry, "re");
		while (info && fgets(line, sizeof(line), info)) {
			if (strncmp(line, "link_type:", 10) == 0)
				break;
			if (sscanf(line, "prog_id: %u", &id) == 1 &&
			    (ret[n] = bpf_prog_get_fd_by_id(id)) >= 0)
				n++;
		}
		if (info)
			fclose(info);
	}
	if (dir)
		closedir(dir);
	return n;
}

static int expense_read(pid_t pid, const int *programs, size_t n, struct expense *ret)
{
	clockid_t clock;
	int r = clock_getcpuclockid(pid, &clock);

	if (r != 0)
		return -r;
	*ret = (struct expense){ .process_s = now_s(clock) };
	for (size_t i = 0; i < n; i++) {
		struct bpf_prog_info info = { 0 };
		__u32 size = sizeof(info);

		if (bpf_obj_get_info_by_fd(programs[i], &info, &size) < 0)
			return -errno;
		ret->programs_s += (double)info.run_time_ns / 1e9;
		if (strcmp(info.name, "on_clock") == 0)
			ret->clock_runs += info.run_cnt;
	}
	return 0;
}

static int outside(int argc, char **argv, struct fault *reterr)
{
	pid_t pid = argc > 2 ? (pid_t)strtol(argv[2], NULL, 10) : 0;
	double seconds = argc > 3 ? strtod(argv[3], NULL) : 0, share;
	_clean_(fd_closep) int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	struct json json = json_to(stdout);
	int programs[MAX_PROGRAMS], r;
	struct expense before, after;
	struct cpu_list online;
	size_t n;

	if (pid <= 0 || seconds <= 0 || stats < 0)
		return fault_set(reterr, -EINVAL, "outside PID SECONDS, as root");
	n = programs_of(pid, programs);
	r = n ? expense_read(pid, programs, n, &before) : -ESRCH;
	sleep_s(seconds);
	if (r == 0)
		r = expense_read(pid, programs, n, &after);
	for (size_t i = 0; i < n; i++)
		close(programs[i]);
	if (r < 0)
		return fault_errno(reterr, r, "process %d: no monitor with BPF programs", pid);
	cpu_list_online(&online);
	share = 100 / seconds / online.n;
	json_object_begin(&json, NULL);
	json_double(&json, "programs_percent", (after.programs_s - before.programs_s) * share);
	json_double(&json, "process_percent", (after.process_s - before.process_s) * share);
	json_double(&json, "clock_events_per_second",
		    (double)(after.clock_runs - before.clock_runs) / seconds);
	json_object_end(&json);
	return 0;
}

/* --- wakeups -------------------------------------------------------------------------------------- */

struct idle_counts {
	double timer[CPU_LIST_MAX / 16], entries[CPU_LIST_MAX / 16];
};

#define MAX_IDLE_CPUS (CPU_LIST_MAX / 16)

static void timer_read(struct idle_counts *ret)
{
	FILE *file = fopen("/proc/interrupts", "re");
	_clean_(freep) char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		char *at = strstr(line, "LOC:"), *end;

		if (!at && !(at = strstr(line, "arch_timer")))
			continue;
		at = strchr(line, ':') + 1;
		for (unsigned cpu = 0; cpu < MAX_IDLE_CPUS; cpu++, at = end) {
			double n = strtod(at, &end);

			if (end == at)
				break;
			ret->timer[cpu] = n;
		}
		break;
	}
	if (file)
		fclose(file);
}

static void entries_read(struct idle_counts *ret)
{
	for (unsigned cpu = 0; cpu < MAX_IDLE_CPUS; cpu++) {
		ret->entries[cpu] = 0;
		for (unsigned state = 0; state < 10; state++) {
			char path[128];
			double n = 0;
			FILE *file;

			snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/usage",
				 cpu, state);
			file = fopen(path, "re");
			if (!file)
				break;
			if (fscanf(file, "%lf", &n) == 1)
				ret->entries[cpu] += n;
			fclose(file);
		}
	}
}

/* Per second, on the CPU with the fewest timer interrupts: that is an idle one. */
static void idlest(double seconds, double *rettimer, double *retentries)
{
	static struct idle_counts before, after;
	unsigned best = 0;

	timer_read(&before);
	entries_read(&before);
	sleep_s(seconds);
	timer_read(&after);
	entries_read(&after);
	for (unsigned cpu = 0; cpu < MAX_IDLE_CPUS && after.timer[cpu] > 0; cpu++)
		if (after.timer[cpu] - before.timer[cpu] < after.timer[best] - before.timer[best])
			best = cpu;
	*rettimer = (after.timer[best] - before.timer[best]) / seconds;
	*retentries = (after.entries[best] - before.entries[best]) / seconds;
}

static int wakeups(int argc, char **argv, struct fault *reterr)
{
	struct kind kinds[MAX_KINDS];
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 0;
	size_t n_rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 0, n_kinds = 0;
	static double timer[MAX_KINDS][256], entries[MAX_KINDS][256];
	struct json json = json_to(stdout);
	int r;

	if (seconds <= 0 || n_rounds < 1 || n_rounds > 256 || argc < 5 || argc > 4 + MAX_KINDS)
		return fault_set(reterr, -EINVAL, "wakeups SECONDS ROUNDS KIND...");
	r = kinds_open(argv + 4, (size_t)argc - 4, kinds, &n_kinds, reterr);
	for (size_t round = 0; r == 0 && round < n_rounds; round++)
		for (size_t k = 0; r == 0 && k < n_kinds; k++) {
			r = kind_switch(&kinds[k], true);
			sleep_s(0.1);
			idlest(seconds, &timer[k][round], &entries[k][round]);
			kind_switch(&kinds[k], false);
			kind_drain(&kinds[k]);
		}
	if (r == 0) {
		json_object_begin(&json, NULL);
		json_array_begin(&json, "kinds");
		for (size_t k = 0; k < n_kinds; k++) {
			json_object_begin(&json, NULL);
			json_string(&json, "name", kinds[k].name);
			json_double(&json, "timer_interrupts_per_second",
				    budget_median(timer[k], (unsigned)n_rounds));
			json_double(&json, "idle_entries_per_second",
				    budget_median(entries[k], (unsigned)n_rounds));
			json_object_end(&json);
		}
		json_array_end(&json);
		json_object_end(&json);
	}
	while (n_kinds)
		kind_close(&kinds[--n_kinds]);
	return r;
}

/* --- agree ---------------------------------------------------------------------------------------- */

static int clocks_attach(struct agree_bpf *bpf, double hz, int *fds, unsigned *retn)
{
	struct perf_options options = { .clock = PERF_CLOCK_CPU, .period = (uint64_t)(1e9 / hz) };
	struct perf_event_attr attr;
	struct cpu_list online;

	perf_attr_fill(&options, &attr);
	cpu_list_online(&online);
	for (unsigned cpu = 0; cpu <= online.highest; cpu++) {
		int fd = cpu_list_has(&online, cpu) ? perf_event_open_fd(&attr, -1, (int)cpu, 0) : -ENODEV;

		if (fd < 0)
			continue;
		fds[(*retn)++] = fd;
		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(bpf->progs.on_compare)) < 0 ||
		    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return -errno;
	}
	return 0;
}

static void agree_print(struct agree_bpf *bpf)
{
	static const char *const names[AGREE_COUNTERS] = { "samples",	"compared", "same",
							   "different", "races",    "find_vma_refused" };
	int n_cpus = libbpf_num_possible_cpus();
	_clean_(freep) uint64_t *per_cpu = calloc((size_t)MAX(n_cpus, 1), sizeof(*per_cpu));
	struct json json = json_to(stdout);
	uint64_t sums[AGREE_COUNTERS] = { 0 };

	for (uint32_t i = 0; per_cpu && i < AGREE_COUNTERS; i++)
		if (bpf_map_lookup_elem(bpf_map__fd(bpf->maps.agree), &i, per_cpu) == 0)
			for (int cpu = 0; cpu < n_cpus; cpu++)
				sums[i] += per_cpu[cpu];
	json_object_begin(&json, NULL);
	for (uint32_t i = 0; i < AGREE_COUNTERS; i++)
		json_u64(&json, names[i], sums[i]);
	json_double(&json, "agreement_percent",
		    100.0 * (double)sums[AGREE_SAME] / (double)MAX(sums[AGREE_COMPARED], 1u));
	json_object_end(&json);
}

static int agree(int argc, char **argv, struct fault *reterr)
{
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 0, hz = argc > 3 ? strtod(argv[3], NULL) : 0;
	struct agree_bpf *bpf = seconds > 0 && hz > 0 ? agree_bpf__open() : NULL;
	struct bpf_program *program;
	static int fds[CPU_LIST_MAX];
	unsigned n_fds = 0;
	int r;

	if (!bpf)
		return fault_set(reterr, -EINVAL, "agree SECONDS HZ");
	bpf_object__for_each_program(program, bpf->obj)
		bpf_program__set_autoload(program, program == bpf->progs.on_compare);
	bpf->bss->control.no_cache = argc > 4 && strcmp(argv[4], "nocache") == 0;
	bpf->bss->control.page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	r = agree_bpf__load(bpf);
	if (r == 0)
		r = clocks_attach(bpf, hz, fds, &n_fds);
	if (r == 0) {
		sleep_s(seconds);
		agree_print(bpf);
	}
	while (n_fds)
		close(fds[--n_fds]);
	agree_bpf__destroy(bpf);
	return r < 0 ? fault_errno(reterr, r, "cannot compare") : 0;
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{ "slices", slices },	{ "program", program }, { "outside", outside },
		{ "wakeups", wakeups }, { "agree", agree },
	};

	return commands_main(commands, ARRAY_SIZE(commands), argc, argv);
}
