/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * start.h - before anything else runs: take away generations that this machine's CPU cannot run
 *
 * A disk may come into another machine, and a virtual machine onto another host. morphd would see it (watch_cpu()), but
 * other services start before it. So this is done when the file systems are there, by a program that reads files of the
 * store alone, no database:
 *
 *	1. STATE/cpu names the CPU for which all that is installed was found good: if it is this one, nothing is to be done
 *	2. the store: which generations name an instruction set that this CPU lacks (cpu_can_run())?
 *	3. where the bytes of such a one stand at a target's path, the shipped file comes back (replace.h)
 *	4. records of mounts (mount_record.h) of such a one are dropped: at this time nothing is mounted yet
 *	5. STATE/cpu is written, if all that succeeded
 *
 * morphd finds the shipped files, and makes generations for this CPU.
 */

#include "base/fault.h"
#include "manager/keep/settings.h"

struct start_result {
	bool is_same_cpu;	   /* step 1 ended it */
	unsigned n_back, n_failed; /* programs */
};

/**
 * start_check() - all five steps; each program that is put back, and each that cannot be, is logged
 * Return: 0, also when single programs failed; -EBUSY: morphd works there, and sees to it; -ENODATA: what CPU this is
 * cannot be told; -errno. A machine without a state directory has nothing to check.
 */
int start_check(const struct settings *settings, struct start_result *ret, struct fault *reterr);

/** start_note() - step 5, for morphd: everything that is installed runs on the CPU of line @cpu */
int start_note(const struct settings *settings, const char *cpu, struct fault *reterr);
