/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-faults: the page faults of one program, and the text that it leaves resident
 *
 *	bench-faults warm|cold FILE PROGRAM [ARGUMENT...]
 *
 *	1. warm: all pages of the program's file are in the page cache. cold: none is; shared libraries and
 *	   inputs stay as they are.
 *	2. The program runs on one CPU, so that one ring has the addresses of all its faults, in order:
 *	   perf's software events, from execve(2) on, its threads included, its children not.
 *	3. Before it leaves its address space (PTRACE_EVENT_EXIT), /proc/PID/pagemap tells which pages of its
 *	   executable mappings it has; libraries' do not count.
 *	4. A line of JSON is appended to FILE. The exit status is the program's; 125: not measured.
 *
 * The kernel maps up to 16 cached pages around one that is touched ("fault around"), so text faults
 * and resident text are coarser than the pages that ran. Addresses are randomized as the system does.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fault.h"
#include "base/macro.h"
#include "monitor/machine/perf_event.h"
#include "monitor/perf/launch.h"
#include "monitor/perf/process_maps.h"

#define RING_PAGES 1024 /* 4 MiB: 260,000 faults */
#define MAX_RANGES 16
#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define NOT_MEASURED 125

/* All faults of one kind: how many, and where. */
struct counter {
	int fd; /* owned */
	struct perf_ring ring;
	uint64_t total, text;
};

struct text {
	struct {
		uint64_t start, end;
	} ranges[MAX_RANGES];
	size_t n_ranges;
	char path[PATH_MAX]; /* of the program, as the kernel names it */
	uint64_t pages, resident;
};

struct run {
	struct launch launch;
	struct counter minor, major;
	struct text text;
	int status;
};

/* ---- the page cache ---- */

static int pages_cached(const char *path, int fd, size_t size, size_t *ret, struct fault *reterr)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (size + page - 1) / page;
	_clean_(freep) unsigned char *in = calloc(n + 1, 1);
	void *map = in ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
	int r = map == MAP_FAILED || mincore(map, size, in) < 0 ? -errno : 0;

	if (map != MAP_FAILED)
		munmap(map, size);
	if (r < 0)
		return fault_errno(reterr, r, "%s: cannot tell what is cached", path);
	*ret = 0;
	for (size_t i = 0; i < n; i++)
		*ret += in[i] & 1;
	return 0;
}

static int cache_drop(const char *path, int fd, size_t size, struct fault *reterr)
{
	size_t left;
	int r;

	/* Pages that are not written yet stay. */
	if (fsync(fd) < 0)
		return fault_errno(reterr, -errno, "%s: fsync", path);
	r = -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (r < 0)
		return fault_errno(reterr, r, "%s: cannot drop it from the page cache", path);
	r = pages_cached(path, fd, size, &left, reterr);
	if (r == 0 && left)
		r = fault_set(reterr, -EBUSY,
			      "%s: %zu of its pages stay in the page cache; does it run elsewhere, or "
			      "is its file system in memory?",
			      path, left);
	return r;
}

static int cache_fill(const char *path, int fd, size_t size, struct fault *reterr)
{
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	size_t cached, page = (size_t)sysconf(_SC_PAGESIZE);
	int r;

	if (map == MAP_FAILED)
		return fault_errno(reterr, -errno, "%s: cannot map it", path);
	munmap(map, size);
	r = pages_cached(path, fd, size, &cached, reterr);
	if (r == 0 && cached < size / page)
		r = fault_set(reterr, -EAGAIN,
			      "%s: only %zu of its pages are in the page cache; is memory short?", path,
			      cached);
	return r;
}

static int cache_prepare(const char *path, bool warm, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fault_errno(reterr, -errno, "%s: cannot read; name the program by its path", path);
	return warm ? cache_fill(path, fd, (size_t)st.st_size, reterr) :
		      cache_drop(path, fd, (size_t)st.st_size, reterr);
}

/* ---- counters ---- */

static int counter_open(struct counter *counter, uint64_t config, pid_t pid, int cpu, struct fault *reterr)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = config,
					.sample_period = 1,
					.sample_type = PERF_SAMPLE_ADDR,
					.disabled = 1,
					.enable_on_exec = 1,
					.inherit = 1,
					.inherit_thread = 1 };
	int r;

	counter->fd = perf_event_open_fd(&attr, pid, cpu, 0);
	if (counter->fd < 0)
		return perf_event_refusal(counter->fd, PERF_CLOCK_NONE, reterr);
	r = perf_ring_map(counter->fd, RING_PAGES, &counter->ring);
	return r < 0 ? fault_errno(reterr, r, "cannot map a ring of %d pages", RING_PAGES) : 0;
}

static void counter_close(struct counter *counter)
{
	perf_ring_unmap(&counter->ring);
	fd_closep(&counter->fd);
}

static bool text_has(const struct text *text, uint64_t address)
{
	for (size_t i = 0; i < text->n_ranges; i++)
		if (address >= text->ranges[i].start && address < text->ranges[i].end)
			return true;
	return false;
}

static int counter_read(struct counter *counter, const struct text *text, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer scratch = { 0 };
	const struct perf_event_header *record;
	uint64_t seen = 0;
	size_t size;

	while ((record = perf_ring_next(&counter->ring, &scratch, &size))) {
		uint64_t address;

		if (record->type != PERF_RECORD_SAMPLE || size < sizeof(*record) + sizeof(address))
			continue;
		memcpy(&address, record + 1, sizeof(address));
		counter->text += text_has(text, address);
		seen++;
	}
	if (read(counter->fd, &counter->total, sizeof(counter->total)) != sizeof(counter->total))
		return fault_errno(reterr, -errno, "cannot read a counter of faults");
	if (seen != counter->total)
		return fault_set(reterr, -EOVERFLOW,
				 "%" PRIu64 " faults, but the addresses of %" PRIu64
				 "; RING_PAGES in bench/faults/faults.c is too small",
				 counter->total, seen);
	return 0;
}

/* ---- text ---- */

static int range_add(const struct process_mapping *mapping, void *closure)
{
	struct text *text = closure;

	if (strcmp(mapping->name, text->path) != 0)
		return 0;
	if (text->n_ranges == MAX_RANGES)
		return -E2BIG;
	text->ranges[text->n_ranges].start = mapping->start;
	text->ranges[text->n_ranges++].end = mapping->end;
	return 0;
}

static int range_count(struct text *text, size_t i, int pagemap, uint64_t page)
{
	for (uint64_t at = text->ranges[i].start; at < text->ranges[i].end; at += page) {
		uint64_t entry;

		if (pread(pagemap, &entry, sizeof(entry), (off_t)(at / page * sizeof(entry))) !=
		    sizeof(entry))
			return -EIO;
		text->resident += (entry & PAGEMAP_PRESENT) != 0;
		text->pages++;
	}
	return 0;
}

/* The program stands still at its end. */
static int text_read(pid_t pid, struct text *text, struct fault *reterr)
{
	_clean_(fd_closep) int pagemap = -1;
	char name[64];
	ssize_t n;
	int r;

	snprintf(name, sizeof(name), "/proc/%d/exe", pid);
	n = readlink(name, text->path, sizeof(text->path) - 1);
	text->path[MAX(n, 0)] = '\0';
	snprintf(name, sizeof(name), "/proc/%d/pagemap", pid);
	pagemap = open(name, O_RDONLY | O_CLOEXEC);
	if (n < 0 || pagemap < 0)
		return fault_errno(reterr, -errno, "%s: cannot read", name);
	r = process_maps_each(pid, range_add, text);
	for (size_t i = 0; r == 0 && i < text->n_ranges; i++)
		r = range_count(text, i, pagemap, (uint64_t)sysconf(_SC_PAGESIZE));
	if (r == 0 && !text->n_ranges)
		return fault_set(reterr, -ENOENT, "%s: it has none of its text mapped at its end",
				 text->path);
	return r < 0 ? fault_errno(reterr, r, "%s: its text", text->path) : 0;
}

/* ---- one run ---- */

/* Let it run to its end; its signals are its own. */
static int run_follow(struct run *run, struct fault *reterr)
{
	bool known = false;

	for (;;) {
		int signal = 0, r;

		if (waitpid(run->launch.pid, &run->status, 0) < 0) {
			if (errno == EINTR)
				continue;
			return fault_errno(reterr, -errno, "wait");
		}
		if (!WIFSTOPPED(run->status))
			break;
		if (run->status >> 16 == PTRACE_EVENT_EXIT) {
			r = text_read(run->launch.pid, &run->text, reterr);
			if (r < 0)
				return r;
			known = true;
		} else if (run->status >> 16 == 0) {
			signal = WSTOPSIG(run->status);
		}
		ptrace(PTRACE_CONT, run->launch.pid, 0, signal);
	}
	run->launch.pid = 0;
	return known ? 0 : fault_set(reterr, -ESRCH, "it was killed before its text could be read");
}

static int run_measure(struct run *run, char **argv, struct fault *reterr)
{
	int cpu = sched_getcpu(), r;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)MAX(cpu, 0), &set);
	if (cpu < 0 || sched_setaffinity(0, sizeof(set), &set) < 0)
		return fault_errno(reterr, -errno, "cannot stay on CPU %d", cpu);
	r = launch_open(argv, &run->launch, reterr);
	if (r == 0)
		r = counter_open(&run->minor, PERF_COUNT_SW_PAGE_FAULTS_MIN, run->launch.pid, cpu, reterr);
	if (r == 0)
		r = counter_open(&run->major, PERF_COUNT_SW_PAGE_FAULTS_MAJ, run->launch.pid, cpu, reterr);
	if (r < 0)
		return r;
	if (ptrace(PTRACE_SEIZE, run->launch.pid, 0, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL) < 0)
		return fault_errno(reterr, -errno, "ptrace");
	r = launch_go(&run->launch, argv[0], reterr);
	if (r == 0)
		r = run_follow(run, reterr);
	if (r == 0)
		r = counter_read(&run->minor, &run->text, reterr);
	return r == 0 ? counter_read(&run->major, &run->text, reterr) : r;
}

static int run_write(const struct run *run, const char *path, struct fault *reterr)
{
	uint64_t kib = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
	FILE *out = fopen(path, "ae");

	if (!out)
		return fault_errno(reterr, -errno, "%s: cannot write", path);
	fprintf(out,
		"{\"minor_faults\": %" PRIu64 ", \"major_faults\": %" PRIu64
		", \"text_minor_faults\": %" PRIu64 ", \"text_major_faults\": %" PRIu64
		", \"text_kib\": %" PRIu64 ", \"resident_text_kib\": %" PRIu64 "}\n",
		run->minor.total, run->major.total, run->minor.text, run->major.text, run->text.pages * kib,
		run->text.resident * kib);
	return fclose(out) ? fault_errno(reterr, -errno, "%s: cannot write", path) : 0;
}

static void run_done(struct run *run)
{
	counter_close(&run->minor);
	counter_close(&run->major);
	launch_done(&run->launch);
}

static int faults_run(char **argv, int *retstatus, struct fault *reterr)
{
	_clean_(run_done) struct run run = { .launch = { .pidfd = -1, .gate = -1, .result = -1 },
					     .minor.fd = -1,
					     .major.fd = -1 };
	int r = cache_prepare(argv[3], strcmp(argv[1], "warm") == 0, reterr);

	if (r == 0)
		r = run_measure(&run, argv + 3, reterr);
	if (r == 0)
		r = run_write(&run, argv[2], reterr);
	*retstatus = WIFSIGNALED(run.status) ? 128 + WTERMSIG(run.status) : WEXITSTATUS(run.status);
	return r;
}

int main(int argc, char **argv)
{
	struct fault fault;
	int status;

	if (argc < 4 || (strcmp(argv[1], "warm") != 0 && strcmp(argv[1], "cold") != 0)) {
		fputs("usage: bench-faults warm|cold FILE PROGRAM [ARGUMENT...]\n", stderr);
		return 2;
	}
	if (faults_run(argv, &status, &fault) < 0) {
		fprintf(stderr, "bench-faults: %s\n", fault.text);
		return NOT_MEASURED;
	}
	return status;
}
