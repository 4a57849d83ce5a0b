/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/machine/perf_event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"

#define PARANOID_FILE "/proc/sys/kernel/perf_event_paranoid"
#define READ_FORMAT_LOST (1u << 4)   /* PERF_FORMAT_LOST, which older headers lack */
#define CALIBRATION_PERIOD 10000000u /* cycles; the event is closed at once */

void perf_attr_fill(const struct perf_options *options, struct perf_event_attr *ret)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };

	attr.type = options->clock == PERF_CLOCK_CYCLES ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
	attr.config = options->clock == PERF_CLOCK_CYCLES ? PERF_COUNT_HW_CPU_CYCLES :
		      options->clock == PERF_CLOCK_CPU	  ? PERF_COUNT_SW_CPU_CLOCK :
		      options->clock == PERF_CLOCK_FAULTS ? PERF_COUNT_SW_PAGE_FAULTS :
							    PERF_COUNT_SW_DUMMY;
	attr.sample_period = options->clock == PERF_CLOCK_NONE ? 0 : options->period;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr.read_format = options->counts_lost ? READ_FORMAT_LOST : 0;
	attr.sample_id_all = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	attr.disabled = 1;
	attr.exclude_kernel = options->exclude_kernel;
	attr.exclude_hv = 1;
	attr.inherit = options->inherit;
	attr.enable_on_exec = options->enable_on_exec;
	attr.watermark = options->wakeup_bytes != 0;
	attr.wakeup_watermark = options->wakeup_bytes;
	if (options->side_band) {
		attr.mmap = attr.mmap2 = 1;
		attr.comm = attr.comm_exec = 1;
		attr.task = 1;
		attr.build_id = options->build_ids;
	}
	if (options->branches && options->clock == PERF_CLOCK_CYCLES) {
		attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	}
	if (options->registers && INTERRUPTED_PERF) {
		attr.sample_type |= PERF_SAMPLE_REGS_USER;
		attr.sample_regs_user = INTERRUPTED_PERF;
	}
	*ret = attr;
}

int perf_event_open_fd(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int paranoid_level(void)
{
	FILE *file = fopen(PARANOID_FILE, "re");
	int level = -2;

	if (file && fscanf(file, "%d", &level) != 1)
		level = -2;
	if (file)
		fclose(file);
	return level;
}

int perf_event_refusal(int code, enum perf_clock clock, struct fault *reterr)
{
	int level = paranoid_level();

	if (code == -EACCES || code == -EPERM) {
		if (level > 2)
			return fault_set(reterr, code,
					 "the kernel refuses perf_event_open (perf_event_paranoid is %d); "
					 "as root: sysctl kernel.perf_event_paranoid=2",
					 level);
		return fault_set(
			reterr, code,
			"the kernel refuses to watch this (perf_event_paranoid is %d): not your process, "
			"or the whole machine; run as root or with CAP_PERFMON",
			level);
	}
	if (code == -ENOSYS)
		return fault_set(reterr, code, "this kernel has no perf_event_open, or a sandbox hides it");
	if ((code == -ENOENT || code == -ENODEV || code == -EOPNOTSUPP) && clock == PERF_CLOCK_CYCLES)
		return fault_set(reterr, code,
				 "this machine has no hardware cycle counter; use the CPU clock");
	if (code == -ESRCH)
		return fault_set(reterr, code, "the process has ended, or never was");
	if (code == -EMFILE)
		return fault_set(reterr, code,
				 "too many open files for one event per thread and CPU; "
				 "raise the limit with ulimit -n");
	return fault_errno(reterr, code, "perf_event_open");
}

static bool cycles_open(bool branches)
{
	struct perf_options options = { .clock = PERF_CLOCK_CYCLES,
					.period = CALIBRATION_PERIOD,
					.exclude_kernel = true,
					.branches = branches };
	struct perf_event_attr attr;
	_clean_(fd_closep) int fd = -1;

	perf_attr_fill(&options, &attr);
	fd = perf_event_open_fd(&attr, 0, -1, 0);
	return fd >= 0;
}

bool perf_has_cycles(void)
{
	return cycles_open(false);
}

bool perf_has_branches(void)
{
	return cycles_open(true);
}

int perf_ring_map(int fd, size_t n_pages, struct perf_ring *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (n_pages + 1) * page;
	uint8_t *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*ret = (struct perf_ring){
		.page = (void *)p, .data = p + page, .size = n_pages * page, .mapped_bytes = bytes
	};
	return 0;
}

void perf_ring_unmap(struct perf_ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->mapped_bytes);
	*ring = (struct perf_ring){ 0 };
}

static const void *ring_copy(const struct perf_ring *ring, struct buffer *scratch, size_t size)
{
	uint64_t from = ring->at & (ring->size - 1), first = MIN(size, ring->size - from);

	scratch->size = 0;
	buffer_bytes(scratch, ring->data + from, first);
	buffer_bytes(scratch, ring->data, size - first);
	return scratch->bad ? NULL : scratch->data;
}

const void *perf_ring_next(struct perf_ring *ring, struct buffer *scratch, size_t *retsize)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header header;
	const void *record;
	uint64_t from;

	if (head - ring->at < sizeof(header))
		return NULL;
	from = ring->at & (ring->size - 1);
	/* Records are multiples of eight bytes, so a header never wraps. */
	memcpy(&header, ring->data + from, sizeof(header));
	if (header.size < sizeof(header) || header.size > head - ring->at) {
		ring->at = head; /* never seen; better to lose the rest than to loop */
		return NULL;
	}
	record = from + header.size <= ring->size ? ring->data + from : ring_copy(ring, scratch, header.size);
	ring->at += header.size;
	*retsize = header.size;
	return record;
}

void perf_ring_release(struct perf_ring *ring)
{
	__atomic_store_n(&ring->page->data_tail, ring->at, __ATOMIC_RELEASE);
}
