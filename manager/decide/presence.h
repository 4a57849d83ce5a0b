/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * presence.h - while an edit runs: does somebody else want the machine now?
 *
 * The load average and the kernel's pressure averages are seconds late, and the edit itself is in them. So this looks at how
 * much of the CPUs others have used since the last look: /proc/stat without the edit's own CPU time. Pressure counts
 * besides, unless others use next to nothing: then it is the edit's own threads that wait for each other. All below
 * settings->root, as in machine.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "manager/decide/machine.h"

struct presence {
	uint64_t at_ns, busy_us, own_us; /* of the last look; at_ns 0: there was none */
	uint64_t slow_ns;		 /* when power and heat were looked at */
	double others;			 /* CPUs that others used, as a share of all; < 0: unknown */
	struct machine_load load;
	const char *used_by; /* as in struct machine_load; the caller's to say before each look */
};

/**
 * presence_is_busy() - since the last call with this @presence, which starts as zeros
 * @now_ns: CLOCK_MONOTONIC; @own_us: CPU time of the edit, from any beginning; it may start anew
 * Return: true with the reason in @retwhy
 */
bool presence_is_busy(const struct settings *settings, struct presence *presence, uint64_t now_ns,
		      uint64_t own_us, char *retwhy, size_t size);
