/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Steps 1 to 4 of recorder.h. Time is CLOCK_MONOTONIC, which the events use too, so that "older than
 * the slack" can be told from our own clock. The slack covers a CPU that took a record's time but was
 * stopped (by its hypervisor, say) before it had written the record.
 */

#include "monitor/record/recorder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "monitor/identify/catalog.h"
#include "monitor/identify/kernel_map.h"
#include "monitor/identify/mapped_file.h"
#include "monitor/identify/space.h"
#include "monitor/observe/observer.h"
#include "monitor/perf/event_queue.h"
#include "monitor/perf/perf_record.h"
#include "monitor/perf/perf_set.h"
#include "monitor/perf/process_maps.h"

#define SLACK_NS 60000000u
#define SAMPLE_WAKEUP_BYTES 32768u
#define BAND_WAKEUP_BYTES 16384u
#define MAX_RATE_HZ 100000.0
#define MAX_THREADS 4096u

struct counters {
	uint64_t fired, idle, kernel, user, attributed, anonymous;
	uint64_t lost[SAMPLE_LOSS_END];
};

struct recorder {
	enum recorder_target target;
	enum perf_clock clock;
	double rate_hz;
	struct perf_set set;
	struct perf_format format;
	struct event_queue queue;
	struct buffer scratch;
	struct catalog *catalog;    /* owned */
	struct observer *observer;  /* owned */
	struct space_table *spaces; /* owned */
	struct kernel_map *kernel;  /* owned */
	struct histogram samples, branches;
	struct counters counters;
	bool band_lost; /* side-band records were lost: the spaces are stale */
	bool is_stale;
	bool is_full;		     /* there were no descriptors for all processes */
	uint64_t start_ns, since_ns; /* CLOCK_REALTIME, CLOCK_MONOTONIC of this period */
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- step 3: side band ---------------------------------------------------------------------------- */

struct running {
	struct recorder *recorder;
	pid_t pid;
};

static int map_file(struct recorder *recorder, const struct mapped_file *file, uint64_t offset)
{
	uint32_t module = mapped_file_module(recorder->catalog, file);
	struct space_range range = { file->start, file->end, offset, module };

	return module == CATALOG_NONE ? -ENOMEM : space_map(recorder->spaces, file->pid, &range);
}

static int map_running(const struct process_mapping *mapping, void *closure)
{
	const struct running *running = closure;
	struct recorder *recorder = running->recorder;
	struct mapped_file file = { .pid = running->pid,
				    .start = mapping->start,
				    .end = mapping->end,
				    .name = mapping->name,
				    .comm = space_comm(recorder->spaces, running->pid),
				    .inode = mapping->inode,
				    .major = mapping->major,
				    .minor = mapping->minor };

	return map_file(recorder, &file, mapping->offset);
}

/* What @pid has mapped by now. A process that ends meanwhile is none of our trouble. */
static int process_load(struct recorder *recorder, pid_t pid)
{
	struct running running = { recorder, pid };
	unsigned n_threads = process_n_threads(pid);
	char comm[16];

	if (!n_threads)
		return 0;
	process_comm(pid, comm);
	if (space_set_threads(recorder->spaces, pid, n_threads) < 0 ||
	    space_set_comm(recorder->spaces, pid, comm) < 0)
		return -ENOMEM;
	return process_maps_each(pid, map_running, &running) == -ENOMEM ? -ENOMEM : 0;
}

/* Every process, or (@known) every process that is being watched. */
static int processes_load(struct recorder *recorder, bool known)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int r = 0;

	while (r == 0 && dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) &&
		    (!known || space_is_known(recorder->spaces, pid)))
			r = process_load(recorder, pid);
	}
	if (dir)
		closedir(dir);
	return r;
}

static int on_mapping(struct recorder *recorder, const struct perf_record *record)
{
	struct mapped_file file = { .pid = (pid_t)record->pid,
				    .start = record->start,
				    .end = record->start + record->length,
				    .name = record->name,
				    .comm = space_comm(recorder->spaces, (pid_t)record->pid),
				    .build_id = record->build_id,
				    .inode = record->inode,
				    .major = record->major,
				    .minor = record->minor };

	if (record->misc & PERF_RECORD_MISC_MMAP_DATA || record->pid == UINT32_MAX)
		return 0;
	return map_file(recorder, &file, record->offset);
}

static int on_comm(struct recorder *recorder, const struct perf_record *record)
{
	if (record->misc & PERF_RECORD_MISC_COMM_EXEC)
		space_exec(recorder->spaces, (pid_t)record->pid);
	if (record->pid != record->tid)
		return 0; /* the name of a thread */
	return space_set_comm(recorder->spaces, (pid_t)record->pid, record->name);
}

/* --- step 3: samples ------------------------------------------------------------------------------ */

static int on_kernel_sample(struct recorder *recorder, uint64_t ip)
{
	uint64_t offset;
	uint32_t module;

	recorder->counters.kernel++;
	if (!kernel_map_find(recorder->kernel, ip, &module, &offset))
		return 0;
	return histogram_add(&recorder->samples, module, offset, 0, 1);
}

static int branch_add(struct recorder *recorder, pid_t pid, const struct perf_branch_entry *branch)
{
	const struct space_range *from = space_find(recorder->spaces, pid, branch->from);
	const struct space_range *to = space_find(recorder->spaces, pid, branch->to);

	/* Calls between modules belong to neither one's layout. */
	if (!from || !to || from->module != to->module)
		return 0;
	return histogram_add(&recorder->branches, from->module, branch->from - from->start + from->offset,
			     branch->to - to->start + to->offset, 1);
}

static int on_registers(struct recorder *recorder, const struct perf_record *record, uint32_t module,
			uint64_t offset)
{
	struct interrupted registers = { 0 };

	interrupted_from_perf(record->registers, &registers);
	/* Else what was interrupted is not what the registers are of. */
	return registers.ip == record->ip ?
		       observer_look(recorder->observer, module, offset, &registers, &recorder->branches) :
		       0;
}

static int on_user_sample(struct recorder *recorder, const struct perf_record *record)
{
	const struct space_range *range = space_find(recorder->spaces, (pid_t)record->pid, record->ip);
	uint64_t offset;
	int r = 0;

	recorder->counters.user++;
	if (!range) {
		recorder->counters.lost[SAMPLE_LOSS_NO_MAPPING]++;
		return 0;
	}
	offset = record->ip - range->start + range->offset;
	if (catalog_at(recorder->catalog, range->module)->kind == SAMPLE_MODULE_ANONYMOUS) {
		recorder->counters.anonymous++;
		return histogram_add(&recorder->samples, range->module, 0, 0, 1);
	}
	recorder->counters.attributed++;
	r = histogram_add(&recorder->samples, range->module, offset, 0, 1);
	for (uint64_t i = 0; r == 0 && i < record->n_branches; i++)
		r = branch_add(recorder, (pid_t)record->pid, &record->branches[i]);
	if (r == 0 && INTERRUPTED_PERF_N && record->n_registers == INTERRUPTED_PERF_N)
		r = on_registers(recorder, record, range->module, offset);
	return r;
}

static int on_sample(struct recorder *recorder, const struct perf_record *record)
{
	recorder->counters.fired++;
	if (record->pid == 0) {
		recorder->counters.idle++;
		return 0;
	}
	if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		return on_kernel_sample(recorder, record->ip);
	return on_user_sample(recorder, record);
}

static int on_record(const struct perf_record *record, void *closure)
{
	struct recorder *recorder = closure;

	switch (record->type) {
	case PERF_RECORD_SAMPLE: return on_sample(recorder, record);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2: return on_mapping(recorder, record);
	case PERF_RECORD_COMM: return on_comm(recorder, record);
	case PERF_RECORD_FORK: return space_fork(recorder->spaces, (pid_t)record->pid, (pid_t)record->ppid);
	case PERF_RECORD_EXIT: space_exit(recorder->spaces, (pid_t)record->pid); return 0;
	default: return 0;
	}
}

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
			on_lost(recorder, record.lost, is_band);
		else
			r = event_queue_push(&recorder->queue, &record);
	}
	perf_ring_release(ring);
	return r;
}

static int drain(struct recorder *recorder, bool all)
{
	uint64_t until = all ? UINT64_MAX : now_ns(CLOCK_MONOTONIC) - SLACK_NS;
	int r = 0;

	for (size_t i = 0; r == 0 && i < recorder->set.n_cpus; i++)
		for (unsigned k = 0; r == 0 && k < PERF_SET_RINGS; k++)
			if (recorder->set.cpus[i].rings[k].page)
				r = ring_drain(recorder, &recorder->set.cpus[i].rings[k], k == PERF_SET_BAND);
	if (r == 0)
		r = event_queue_take(&recorder->queue, until, on_record, recorder);
	if (r == 0 && recorder->band_lost) {
		recorder->band_lost = false;
		/* Who was forked meanwhile is sampled, but nobody knows; adding him would count him twice. */
		recorder->is_stale |= recorder->target == RECORDER_TASKS;
		r = processes_load(recorder, recorder->target == RECORDER_TASKS);
	}
	return r;
}

/* --- opening -------------------------------------------------------------------------------------- */

static bool has_tid(const pid_t *tids, size_t n, pid_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (tids[i] == tid)
			return true;
	return false;
}

/* Threads that appear while we look are found by looking again, until a round finds no new one. */
static int add_process(struct recorder *recorder, pid_t pid)
{
	_clean_(freep) pid_t *tids = calloc(MAX_THREADS, sizeof(*tids));
	size_t n = 0, before;
	char path[64];
	int r = tids ? 0 : -ENOMEM;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	do {
		DIR *dir = r == 0 ? opendir(path) : NULL;
		struct dirent *entry;

		if (!dir)
			return r < 0 ? r : -ESRCH;
		before = n;
		while (r == 0 && (entry = readdir(dir))) {
			pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

			if (tid <= 0 || n == MAX_THREADS || has_tid(tids, n, tid))
				continue;
			tids[n++] = tid;
			r = perf_set_add(&recorder->set, tid, 0);
			if (r == -ESRCH && tid != pid)
				r = 0; /* a thread that ended meanwhile */
		}
		closedir(dir);
	} while (r == 0 && n > before);
	return r;
}

static int add_cgroup(struct recorder *recorder, const char *cgroup, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return fault_errno(reterr, -errno, "%s: not a cgroup's directory", cgroup);
	r = perf_set_add(&recorder->set, fd, PERF_FLAG_PID_CGROUP);
	if (r == -EBADF || r == -EINVAL || r == -ENOENT)
		return fault_set(reterr, r,
				 "%s: not a directory of the cgroup hierarchy that has perf_event "
				 "(cgroup v2, or v1's of that name)",
				 cgroup);
	return r < 0 ? perf_event_refusal(r, recorder->clock, reterr) : 0;
}

static int add_targets(struct recorder *recorder, const struct recorder_options *options,
		       struct fault *reterr)
{
	int r = 0;

	if (options->target == RECORDER_CGROUP)
		return add_cgroup(recorder, options->cgroup, reterr);
	if (options->target == RECORDER_ALL)
		r = perf_set_add(&recorder->set, -1, 0);
	for (size_t i = 0; r == 0 && options->target == RECORDER_TASKS && i < options->n_pids; i++)
		r = add_process(recorder, options->pids[i]);
	return r < 0 ? perf_event_refusal(r, recorder->clock, reterr) : 0;
}

static uint64_t period_of(const struct recorder_options *options)
{
	double unit = options->clock == PERF_CLOCK_CYCLES ? cpu_hz() : 1e9;

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
		.registers = !options->branches,
		.wakeup_bytes = SAMPLE_WAKEUP_BYTES,
	};
	struct perf_options band = samples;
	struct perf_event_attr attr;

	band.clock = PERF_CLOCK_NONE;
	band.registers = false;
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
	r = add_targets(recorder, options, reterr);
	if (r < 0)
		return r;
	recorder->start_ns = now_ns(CLOCK_REALTIME);
	recorder->since_ns = now_ns(CLOCK_MONOTONIC);
	if (options->enable_on_exec)
		return 0;
	r = perf_set_enable(&recorder->set, true);
	/* Only now: what is mapped from here on comes as a record. */
	for (size_t i = 0; r == 0 && options->target == RECORDER_TASKS && i < options->n_pids; i++)
		r = process_load(recorder, options->pids[i]);
	if (r == 0 && options->target != RECORDER_TASKS)
		r = processes_load(recorder, false);
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
	if (!recorder->observer || !recorder->spaces || !recorder->kernel)
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
	kernel_map_free(recorder->kernel);
	observer_free(recorder->observer);
	space_table_free(recorder->spaces);
	catalog_free(recorder->catalog);
	free(recorder);
}

#define GROWN_UP_S 1.0 /* by then its fork has been read from the rings */

/* @pid, if it is another one of this user that is not watched yet. 1: it is now; 0: not; -errno. */
static int add_own(struct recorder *recorder, const struct stat *st, pid_t pid, bool is_first,
		   bool *retrefused)
{
	int r;

	if (pid <= 0 || pid == getpid() || st->st_uid != geteuid() || space_is_known(recorder->spaces, pid) ||
	    (!is_first && process_age_s(pid) < GROWN_UP_S))
		return 0;
	r = add_process(recorder, pid);
	if (r == 0)
		r = perf_set_enable(&recorder->set, true);
	if (r == 0)
		r = process_load(recorder, pid);
	*retrefused |= r == -EACCES || r == -EPERM;
	recorder->is_full = r == -EMFILE;
	return r == 0 ? 1 : *retrefused || recorder->is_full || r == -ESRCH ? 0 : r;
}

/* Others may be beyond us for reasons of their own; but if not even this process may be watched, nothing may. */
static int may_watch_self(const struct recorder *recorder)
{
	struct perf_options options = recorder->set.samples;
	struct perf_event_attr attr;
	_clean_(fd_closep) int fd = -1;

	options.exclude_kernel = true;
	perf_attr_fill(&options, &attr);
	fd = perf_event_open_fd(&attr, 0, -1, 0);
	return MIN(fd, 0);
}

int recorder_add_own(struct recorder *recorder, struct fault *reterr)
{
	bool is_first = !recorder->set.n_fds, was_refused = false;
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int r = 0;

	while (r >= 0 && dir && !recorder->is_full && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct stat st;

		if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
			r = add_own(recorder, &st, pid, is_first, &was_refused);
	}
	if (dir)
		closedir(dir);
	/* Descriptors of processes that have ended are in the way of others. */
	recorder->is_stale |= recorder->is_full && !is_first;
	if (r >= 0 && was_refused && !recorder->set.n_fds)
		r = may_watch_self(recorder);
	return r < 0 ? perf_event_refusal(r, recorder->clock, reterr) : 0;
}

bool recorder_is_stale(const struct recorder *recorder)
{
	struct cpu_list online;
	unsigned n_known = 0;

	cpu_list_online(&online);
	for (size_t i = 0; i < recorder->set.n_cpus; i++)
		n_known += cpu_list_has(&online, recorder->set.cpus[i].cpu);
	return recorder->is_stale || n_known < online.n;
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
	return r < 0 ? fault_errno(reterr, r, "cannot stop sampling") : 0;
}

static void head_fill(struct recorder *recorder, struct sample_log *log)
{
	const struct counters *counters = &recorder->counters;
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	log->source = recorder->clock == PERF_CLOCK_CYCLES ? SAMPLE_SOURCE_CYCLES : SAMPLE_SOURCE_CPU_CLOCK;
	log->rate_hz = recorder->rate_hz;
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
	recorder->start_ns = now_ns(CLOCK_REALTIME);
	recorder->since_ns = now;
}

int recorder_log(struct recorder *recorder, struct sample_log **ret, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	int r = log ? catalog_log(recorder->catalog, &recorder->samples, &recorder->branches, log) : -ENOMEM;

	if (r < 0)
		return fault_errno(reterr, r, "sample log");
	head_fill(recorder, log);
	recorder->counters = (struct counters){ 0 };
	histogram_clear(&recorder->samples);
	histogram_clear(&recorder->branches);
	*ret = TAKE(log);
	return 0;
}

bool recorder_sees_kernel(const struct recorder *recorder)
{
	return !recorder->set.samples.exclude_kernel;
}
