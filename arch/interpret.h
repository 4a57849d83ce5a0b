/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * interpret.h - what the interrupted registers tell about the branches ahead
 *
 * A clock sample has the registers of the moment. From there straight-line code can be executed once more, on paper,
 * until something unknown would decide: each conditional jump passed on the way has told where it went. DCPI (Anderson
 * et al. 1997, section 7) names this "interpretation" as a way to branch directions without hardware. What is not known
 * is never guessed: a register, a flag or a byte of memory that cannot be had makes what depends on it unknown.
 *
 * The code is this machine's, so the interpreter is chosen when Morph is built. An architecture says, in interpret.h
 * of its folder:
 *	INTERPRET_BYTES		of the longest instruction, at least
 *	struct interpreter	with ip and user, which is for the two functions below
 *	interpret_start()	from the interrupted registers
 *	interpret_step()	execute the instruction at ip; after INTERPRET_STOP the interpreter means nothing any more
 * Where there is none, arch/none, every step stops, and INTERRUPTED_MACHINE is EM_NONE.
 *
 * Whoever includes this defines two functions (by name, not by pointer: a step is a dozen instructions):
 *	unsigned interpret_fetch(m, address, code)	bytes of code at @address, zeros behind them; how many there are
 *	bool interpret_load(m, address, size, ret)	1, 2, 4 or 8 bytes of memory as they were when the registers
 *							were taken; false: unknown
 */

#if defined(__x86_64__)
#include "arch/x86_64/interpret.h"
#else
#include "arch/none/interpret.h"
#endif
