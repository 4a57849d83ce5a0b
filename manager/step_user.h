/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * step_user.h - a user for one step of one edit
 *
 * What parses foreign bytes may be taken over by them. So that one edit has no way to the next one, each step runs as a
 * user whom nobody else is at that time: `worker_user` is a range of numbers, "60800-60863", which the system gives to
 * nobody. The first number is the one that ends the others' processes, and is never given out. Where `worker_user` is a
 * name, all steps share that user, and only the process group of a step can be ended.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "base/fault.h"

struct step_user {
	uid_t uid; /* equal to ours: nobody else can be had (morphd is not root) */
	gid_t gid;
	bool is_own; /* of a range: nobody else is this user */
	uid_t reaper; /* first of the range */
};

/** step_user_check() - is @setting a range of three or more numbers above 1000, or a name? -EINVAL with @reterr */
int step_user_check(const char *setting, struct fault *reterr);

/**
 * step_user_choose() - the next one of @setting, round about
 * Whether nobody is that user now is for step_user_is_alone() to say. Users that the system knows are passed over.
 * Return: how many there are to choose from; -ENOENT when there is none, with @reterr
 */
int step_user_choose(const char *setting, struct step_user *ret, struct fault *reterr);

/** step_user_become() - for the calling process, for good. Return: 0 or -errno */
int step_user_become(const struct step_user *user);

/**
 * step_user_is_alone() - is the calling process the only one of its real user?
 * The kernel counts (RLIMIT_NPROC), processes that have ended and were not waited for as well. Of two that ask at the
 * same time at most one hears yes. The soft limit is left at two processes. Return: 1, 0, or -errno
 */
int step_user_is_alone(void);

/**
 * step_user_end() - end every process of @user; does nothing for one that is not of a range
 * Return: 0 when none is left; -EBUSY when the kernel still counts one after half a second; other -errno
 */
int step_user_end(const struct step_user *user, struct fault *reterr);
