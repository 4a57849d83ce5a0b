/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * interrupted.h - the registers of a program that was interrupted in user mode, on the machine that this is built for
 *
 * An architecture says, in interrupted.h of its folder:
 *	INTERRUPTED_MACHINE	EM_* of the programs whose registers interpret.h understands; EM_NONE: of none
 *	INTERRUPTED_GENERAL	how many general registers it has
 *	INTERRUPTED_PERF	what perf_event_open(2) is asked for (sample_regs_user); 0: nothing
 *	INTERRUPTED_PERF_N	how many numbers that are
 *	interrupted_perf_places	for each of them the number of the general register, or one of the two below
 */

#include <stdint.h>

enum { INTERRUPTED_IP = 0xfe, INTERRUPTED_FLAGS = 0xff };

#if defined(__x86_64__)
#include "arch/x86_64/interrupted.h"
#else
#include "arch/none/interrupted.h"
#endif

struct interrupted {
	uint64_t general[INTERRUPTED_GENERAL]; /* by their numbers in instructions */
	uint64_t ip, flags;
};

/* As the kernel hands them out: in the order of their bits in INTERRUPTED_PERF. */
static inline void interrupted_from_perf(const uint64_t values[], struct interrupted *ret)
{
	for (unsigned i = 0; i < INTERRUPTED_PERF_N; i++) {
		uint8_t place = interrupted_perf_places[i];

		if (place == INTERRUPTED_IP)
			ret->ip = values[i];
		else if (place == INTERRUPTED_FLAGS)
			ret->flags = values[i];
		else
			ret->general[place] = values[i];
	}
}
