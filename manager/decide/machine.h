/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * machine.h - is the host idle, on mains power, how much disk is free
 *
 * Reads /proc and /sys under settings->root, so that tests can show it any machine.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "manager/keep/context.h"

struct machine_load {
	double pressure; /* percent of the last 10 s in which some task waited for a CPU; < 0: unknown */
	double load;	 /* one-minute load average per CPU; < 0: unknown */
	bool on_battery; /* there is a battery and no mains supply is online */
	bool saves_power, is_hot; /* base/power.h */
	const char *used_by;	  /* borrowed, the caller's to say: a session of logind; NULL, "": none */
};

/** machine_load_read() - what cannot be read is unknown, never an error */
void machine_load_read(const struct settings *settings, struct machine_load *ret);

/** machine_pressure() - the first of these alone */
double machine_pressure(const struct settings *settings);

/** machine_busy_us() - CPU time of all CPUs since the start of the machine, to its clock tick; false: cannot be read */
bool machine_busy_us(const struct settings *settings, uint64_t *ret, unsigned *retn_cpus);

/** machine_is_idle() - may an editor run now? If not, @retwhy gets the reason */
bool machine_is_idle(const struct settings *settings, const struct machine_load *load, char *retwhy,
		     size_t size);

/** machine_free_bytes() - available to us on the file system of @path; UINT64_MAX when unknown */
uint64_t machine_free_bytes(const char *path);
