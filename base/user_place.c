/* SPDX-License-Identifier: Apache-2.0 */

#include "base/user_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
	const char *variable, *fallback;
} places[] = {
	[USER_STATE] = { "XDG_STATE_HOME", "/.local/state" },
	[USER_RUNTIME] = { "XDG_RUNTIME_DIR", "/.cache" },
	[USER_CONFIG] = { "XDG_CONFIG_HOME", "/.config" },
	[USER_HOME] = { "HOME", "" },
};

int user_place(enum user_place place, const char *name, char ret[PATH_MAX], struct fault *reterr)
{
	const char *base = getenv(places[place].variable), *fallback = "";

	if (!base || base[0] != '/') {
		base = getenv("HOME");
		fallback = places[place].fallback;
	}
	ret[0] = '\0';
	if (!base || base[0] != '/')
		return fault_set(reterr, -ENOENT, "neither %s nor HOME is set to an absolute path",
				 places[place].variable);
	if (snprintf(ret, PATH_MAX, "%s%s%s%s", base, fallback, *name ? "/" : "", name) >= PATH_MAX) {
		ret[0] = '\0';
		return fault_errno(reterr, -ENAMETOOLONG, "%s", places[place].variable);
	}
	return 0;
}
