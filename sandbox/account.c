/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "sandbox/account.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"

int account_find(const char *name, uid_t *retuid, gid_t *retgid, struct fault *reterr)
{
	static const char *const candidates[] = { "morph-edit", "nobody" };
	const struct passwd *user = NULL;

	*retuid = (uid_t)-1;
	*retgid = (gid_t)-1;
	if (geteuid() != 0)
		return 0;
	if (name)
		user = getpwnam(name);
	for (size_t i = 0; !name && !user && i < ARRAY_SIZE(candidates); i++)
		user = getpwnam(candidates[i]);
	if (!user || user->pw_uid == 0)
		return fault_set(
			reterr, -ENOENT,
			"no unprivileged user \"%s\" to work as in the sandbox; name one with --user",
			name ? name : "morph-edit");
	*retuid = user->pw_uid;
	*retgid = user->pw_gid;
	return 0;
}

int account_give(const char *path, uid_t uid, gid_t gid)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 || fchown(fd, uid, gid) < 0 ? -errno : 0;
}
