/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * launch.h - start a command that waits at the gate until its events are open
 */

#include <sys/types.h>

#include "base/fault.h"

struct launch {
	pid_t pid;
	int pidfd;  /* readable when the command has ended */
	int gate;   /* we write one byte to let it go */
	int result; /* the errno of a failed execvp(), or end of file */
};

/** launch_open() - fork; the child waits; -errno */
int launch_open(char *const argv[], struct launch *ret, struct fault *reterr);
/** launch_go() - let it execute its program; -errno with a sentence when that fails */
int launch_go(struct launch *launch, const char *name, struct fault *reterr);
/** launch_wait() - wait for its end; @retstatus as in waitpid(2) */
int launch_wait(struct launch *launch, int *retstatus, struct fault *reterr);
/** launch_done() - close; a child that still waits at the gate ends */
void launch_done(struct launch *launch);
static inline void launch_donep(struct launch *launch)
{
	launch_done(launch);
}
