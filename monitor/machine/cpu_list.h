/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * cpu_list.h - which CPUs are online, and how fast they say they are
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPU_LIST_MAX 4096

struct cpu_list {
	unsigned n;
	unsigned highest; /* number of the last one */
	uint64_t bits[CPU_LIST_MAX / 64];
};

/** cpu_list_parse() - "0-3,8,10-11\n"; -EINVAL when it is not such a list */
int cpu_list_parse(const char *text, struct cpu_list *ret);
/** cpu_list_online() - /sys/devices/system/cpu/online, or the lines of /proc/stat; CPU 0 alone when neither can be read */
void cpu_list_online(struct cpu_list *ret);
/** cpu_list_nohz_full() - CPUs without a regular tick (usually none) */
void cpu_list_nohz_full(struct cpu_list *ret);
bool cpu_list_has(const struct cpu_list *list, unsigned cpu);
bool cpu_list_is_equal(const struct cpu_list *a, const struct cpu_list *b);
/** cpu_hz() - nominal clock rate of CPU 0; 2 GHz when the system does not tell */
double cpu_hz(void);
