/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * place.h - is a file where only those whom the administrator trusts could have put it?
 *
 * morphd reads and replaces files as root. It does so only with files that
 *
 *	1. stand under one of the prefixes of morphd.conf(5): where packages install
 *	2. belong to a user in owners, and so does (or to root) every directory up to "/"
 *	3. nobody else may write to, nor to any of those directories: not by mode (a sticky bit is not
 *	   enough: whoever may add a name may be there first), not by group unless that is root's, not by ACL
 *	4. are on a mount whose content the machine answers for: not nosuid or noexec (unless "/" is), not a network file system,
 *	   not FUSE, not a removable or loop device
 *
 * All but 1 is asked of open descriptors, upwards by "..": when every directory of the way is out of other
 * users' hands, nobody can exchange a part of it after the check.
 *
 * The rules are public; `morph explain` tries them with the caller's own rights.
 */

#include <stdbool.h>

#include "base/fault.h"
#include "manager/keep/settings.h"

/** place_is_listed() - rule 1, of the text alone; a path with ".." in it is not listed */
bool place_is_listed(const struct settings *settings, const char *path);

/** place_check_listed() - the same with a sentence; 0 or -EACCES */
int place_check_listed(const struct settings *settings, const char *path, struct fault *reterr);

/**
 * place_check_writers() - rules 2 and 3
 * @dir_fd: the directory that has the file @fd under the last component of @path; any descriptor, O_PATH too
 * @path:   for messages, from settings->root on
 * Return: 0; -EACCES with who could change what; -ESTALE when the way up does not lead to the root.
 */
int place_check_writers(const struct settings *settings, int dir_fd, int fd, const char *path,
			struct fault *reterr);

/** place_check_mount() - rule 4; 0 or -EACCES */
int place_check_mount(const struct settings *settings, int fd, const char *path, struct fault *reterr);
