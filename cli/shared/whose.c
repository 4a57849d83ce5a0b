/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/whose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/prefix.h"
#include "base/user_place.h"
#include "manager/talk/bus_name.h"

static bool is_user;

int whose_take_user(struct fault *reterr)
{
	char path[PATH_MAX];
	int r = user_place(USER_RUNTIME, "morph/" BUS_SOCKET_NAME, path, reterr);

	if (r < 0)
		return r;
	is_user = true;
	return setenv("MORPH_SOCKET", path, 1) < 0 ? fault_errno(reterr, -errno, "MORPH_SOCKET") : 0;
}

bool whose_is_user(void)
{
	return is_user;
}

int whose_settings_init(struct settings *ret, struct fault *reterr)
{
	int r = is_user ? settings_init_user(ret, reterr) : settings_init(ret);

	return r < 0 && !is_user ? fault_errno(reterr, r, "the configuration") : r;
}

void whose_config(const char *name, char ret[PATH_MAX])
{
	char own[PATH_MAX];

	if (!is_user) {
		prefix_config(name, ret);
		return;
	}
	snprintf(own, sizeof(own), "morph/%s", name);
	user_place(USER_CONFIG, own, ret, NULL);
}

const char *whose_monitor_status(char ret[PATH_MAX])
{
	return is_user && user_place(USER_RUNTIME, "morph/monitor/status.json", ret, NULL) == 0 ? ret : NULL;
}
