/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/talk/audience.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "manager/place/place.h"

/* "/home/NAME", "/srv/people/NAME": not "/", "/var" or another directory that others have files in, too. */
static bool is_own_home(const struct passwd *user)
{
	const char *slash = strrchr(user->pw_dir, '/');

	return user->pw_dir[0] == '/' && slash != user->pw_dir && strcmp(slash + 1, user->pw_name) == 0;
}

void audience_of(const struct settings *settings, uid_t uid, bool sees_all, struct audience *ret)
{
	const struct passwd *user = sees_all || uid == (uid_t)-1 ? NULL : getpwuid(uid);

	*ret = (struct audience){ .settings = settings, .sees_all = sees_all };
	if (user && is_own_home(user) && strlen(user->pw_dir) < sizeof(ret->home))
		strcpy(ret->home, user->pw_dir);
}

bool audience_sees(const struct audience *audience, const char *path)
{
	size_t n = strlen(audience->home);

	/* "[kernel]" and the like are names of no file, and nobody chose them. */
	if (audience->sees_all || !path || path[0] == '[' || place_is_listed(audience->settings, path))
		return true;
	return n && strncmp(path, audience->home, n) == 0 && path[n] == '/' && !strstr(path, "/../");
}
