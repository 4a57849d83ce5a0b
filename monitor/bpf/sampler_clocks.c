/* SPDX-License-Identifier: Apache-2.0 */

/* The tick, and the perf event of each CPU. */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "monitor/bpf/sampler_state.h"
#include "monitor/machine/cpu_list.h"
#include "monitor/machine/perf_event.h"

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
