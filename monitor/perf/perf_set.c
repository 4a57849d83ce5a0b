/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/perf/perf_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/macro.h"

/* Tried downward: without privilege all rings of a user share perf_event_mlock_kb per CPU. */
static const size_t max_pages[PERF_SET_RINGS] = { [PERF_SET_SAMPLES] = 512, [PERF_SET_BAND] = 128 };
#define MIN_PAGES 2u

int perf_set_init(struct perf_set *set, const struct perf_options *samples, const struct perf_options *band)
{
	struct cpu_list online;

	cpu_list_online(&online);
	*set = (struct perf_set){ .samples = *samples, .band = *band };
	set->cpus = calloc(online.n, sizeof(*set->cpus));
	set->poll = calloc(online.n * PERF_SET_RINGS + 1, sizeof(*set->poll));
	if (!set->cpus || !set->poll)
		return -ENOMEM;
	for (unsigned cpu = 0; cpu <= online.highest; cpu++)
		if (cpu_list_has(&online, cpu))
			set->cpus[set->n_cpus++] = (struct perf_set_cpu){ cpu, { -1, -1 }, { { 0 } } };
	return 0;
}

void perf_set_done(struct perf_set *set)
{
	for (size_t i = 0; i < set->n_cpus; i++)
		for (unsigned k = 0; k < PERF_SET_RINGS; k++)
			perf_ring_unmap(&set->cpus[i].rings[k]);
	for (size_t i = 0; i < set->n_fds; i++)
		close(set->fds[i]);
	free(set->cpus);
	free(set->fds);
	free(set->poll);
	*set = (struct perf_set){ 0 };
}

static int fds_add(struct perf_set *set, int fd)
{
	if (set->n_fds == set->capacity) {
		size_t capacity = set->capacity ? set->capacity * 2 : 16;
		int *fds = reallocarray(set->fds, capacity, sizeof(*fds));

		if (!fds) {
			close(fd);
			return -ENOMEM;
		}
		set->fds = fds;
		set->capacity = capacity;
	}
	set->fds[set->n_fds++] = fd;
	return 0;
}

/*
 * The first event tells what this kernel and this user may do; later ones find the options as they
 * must be: kernel mode needs paranoid <= 1 or CAP_PERFMON, build IDs Linux 5.12, counts of what is lost 6.0.
 */
static int open_best(struct perf_options *options, pid_t pid, int cpu, unsigned long flags)
{
	struct perf_event_attr attr;
	int fd;

	for (;;) {
		perf_attr_fill(options, &attr);
		fd = perf_event_open_fd(&attr, pid, cpu, flags);
		if ((fd == -EACCES || fd == -EPERM) && !options->exclude_kernel)
			options->exclude_kernel = true;
		else if (fd == -EINVAL && options->build_ids)
			options->build_ids = false;
		else if (fd == -EINVAL && options->counts_lost)
			options->counts_lost = false;
		else
			return fd;
	}
}

static int ring_open(int fd, size_t n_pages, struct perf_ring *ret)
{
	int r = perf_ring_map(fd, n_pages, ret);

	while (r == -EPERM && n_pages > MIN_PAGES) {
		n_pages /= 2;
		r = perf_ring_map(fd, n_pages, ret);
	}
	return r;
}

static int event_add(struct perf_set *set, size_t i, enum perf_set_ring kind, pid_t pid, unsigned long flags)
{
	struct perf_set_cpu *cpu = &set->cpus[i];
	struct perf_options *options = kind == PERF_SET_SAMPLES ? &set->samples : &set->band;
	int fd = open_best(options, pid, (int)cpu->cpu, flags), r;

	if (fd < 0)
		return fd;
	r = fds_add(set, fd);
	if (r < 0)
		return r;
	if (cpu->owner[kind] >= 0)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, cpu->owner[kind]) < 0 ? -errno : 0;
	r = ring_open(fd, max_pages[kind], &cpu->rings[kind]);
	if (r < 0)
		return r;
	cpu->owner[kind] = fd;
	set->poll[i * PERF_SET_RINGS + kind] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return 0;
}

int perf_set_add(struct perf_set *set, pid_t pid, unsigned long flags)
{
	for (size_t i = 0; i < set->n_cpus; i++)
		for (unsigned kind = 0; kind < PERF_SET_RINGS; kind++) {
			int r = event_add(set, i, kind, pid, flags);

			if (r == -ENODEV && set->n_cpus > 1)
				continue; /* this CPU went offline just now */
			if (r < 0)
				return r;
		}
	return 0;
}

int perf_set_enable(struct perf_set *set, bool on)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	for (size_t i = on ? set->n_enabled : 0; i < set->n_fds; i++)
		if (ioctl(set->fds[i], request, 0) < 0)
			return -errno;
	set->n_enabled = on ? set->n_fds : 0;
	return 0;
}

uint64_t perf_set_lost(const struct perf_set *set)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < set->n_fds; i++) {
		struct {
			uint64_t events, lost;
		} count;

		/* Of the side band it tells the events alone. */
		if (read(set->fds[i], &count, sizeof(count)) == (ssize_t)sizeof(count))
			ret += count.lost;
	}
	return ret;
}

int perf_set_wait(struct perf_set *set, int fd, int timeout_ms)
{
	size_t n = set->n_cpus * PERF_SET_RINGS;

	set->poll[n] = (struct pollfd){ .fd = fd, .events = POLLIN };
	for (size_t i = 0; i < n; i++)
		if (!set->cpus[i / PERF_SET_RINGS].rings[i % PERF_SET_RINGS].page)
			set->poll[i].fd = -1;
	if (poll(set->poll, n + 1, timeout_ms) < 0)
		return errno == EINTR ? 0 : -errno;
	/* A ring whose task has ended hangs up for good; its children still write to it. */
	for (size_t i = 0; i < n; i++)
		if (set->poll[i].revents & (POLLHUP | POLLERR))
			set->poll[i].fd = -1;
	return set->poll[n].revents != 0;
}
