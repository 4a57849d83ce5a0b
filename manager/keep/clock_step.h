/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * clock_step.h - somebody set the machine's clock: the times in state.db go with it
 *
 * Times are CLOCK_REALTIME, since intervals have to count while morphd does not run. When the clock is set, a year
 * forward, say, all that should wait would be over: crashes would be forgiven, samples that wait be thrown away.
 * So every time that is kept is moved by as much as the clock was set: intervals stay what they were. A clock that
 * was wrong and was corrected makes them right, too.
 *
 * That it was set is seen by CLOCK_BOOTTIME, which nobody sets, and which goes on while the machine is suspended. Of
 * a clock that was set while morphd did not run, only the way back can be seen: there are times of the future then.
 */

#include "manager/keep/context.h"

#define CLOCK_STEP_NS 60000000000 /* less is ntpd's business */

/** clock_step_start() - when the database was opened */
int clock_step_start(struct manager *manager, struct fault *reterr);

/** clock_step_look() - before times are compared. Cost: two system calls, unless the clock was set */
int clock_step_look(struct manager *manager, struct fault *reterr);

/**
 * clock_step_move() - every time in the database by @ns, all or none
 * A time is an integer column whose name ends in "_ns", but for those that are none of the machine's clock; an hour, one
 * that is called "hour". 0 is "never", and stays.
 */
int clock_step_move(struct state *state, int64_t ns, struct fault *reterr);
