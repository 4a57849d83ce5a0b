/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Below arch/interrupted.h, which is what others include. The order is that of asm/perf_regs.h. */

#include <elf.h>

#define INTERRUPTED_MACHINE EM_X86_64
#define INTERRUPTED_GENERAL 16u
#define INTERRUPTED_PERF 0xff03ffull
#define INTERRUPTED_PERF_N 18u

static const uint8_t interrupted_perf_places[INTERRUPTED_PERF_N] = {
	0,
	3,
	1,
	2,
	6,
	7,
	5,
	4, /* ax, bx, cx, dx, si, di, bp, sp */
	INTERRUPTED_IP,
	INTERRUPTED_FLAGS,
	8,
	9,
	10,
	11,
	12,
	13,
	14,
	15,
};
