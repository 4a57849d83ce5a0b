/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * account.h - the user without rights that root becomes in the sandbox
 */

#include <sys/types.h>

#include "base/fault.h"

/**
 * account_find() - asked for, else "morph-edit", else nobody
 * @name:   the one that was asked for, or NULL
 * @retuid: (uid_t)-1 for callers who are not root: they stay who they are
 * Return: 0; -ENOENT: there is no such user, or it is root; with @reterr
 */
int account_find(const char *name, uid_t *retuid, gid_t *retgid, struct fault *reterr);

/** account_give() - the directory at @path to that user, unless a link stands there: others may write beside it. 0 or -errno */
int account_give(const char *path, uid_t uid, gid_t gid);
