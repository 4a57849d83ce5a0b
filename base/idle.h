/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * idle.h - to run only when nobody else wants the CPUs
 *
 * SCHED_IDLE counts only among the tasks of one control group. Where the kernel makes a group of each session by itself
 * (autogroups, sched(7)), all sessions are equal, whatever runs in them: an idle task then holds up those of other sessions
 * until the next tick. So the session has to give way, too. Nothing here can fail in a way that matters.
 */

/** idle_become() - this process and all that it starts: at the lowest priority for CPUs and I/O */
void idle_become(void);

/** idle_session() - the same for the session of this process as against others; it should be the leader */
void idle_session(void);

/** idle_setsid() - setsid(); the new session gives way as the one that is left did */
void idle_setsid(void);
