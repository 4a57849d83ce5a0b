/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/control.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/config_file.h"
#include "base/file.h"
#include "base/macro.h"

#define DIRECTORY_MODE 0750

static const struct config_key keys[] = {
	{ "rate", CONFIG_REAL, offsetof(struct control_burst, rate_hz), 1, CONTROL_BURST_MAX_HZ },
	{ "seconds", CONFIG_REAL, offsetof(struct control_burst, seconds), 0.1, CONTROL_BURST_MAX_S },
	{ "module", CONFIG_PATH, offsetof(struct control_burst, module), 0, 0 },
	{ NULL, 0, 0, 0, 0 },
};

int control_open(const char *directory, struct control *ret, struct fault *reterr)
{
	struct control control = { .fd = -1 };
	int r = file_mkdirs(directory, DIRECTORY_MODE, reterr);

	if (r < 0)
		return r;
	control.directory = strdup(directory);
	control.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (!control.directory || control.fd < 0 ||
	    inotify_add_watch(control.fd, directory, IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE) < 0) {
		r = control.directory ? -errno : -ENOMEM;
		control_close(&control);
		return fault_errno(reterr, r, "%s: cannot watch", directory);
	}
	*ret = control;
	return 0;
}

void control_close(struct control *control)
{
	if (control->fd >= 0)
		close(control->fd);
	free(control->directory);
	*control = (struct control){ .fd = -1 };
}

bool control_drain(struct control *control)
{
	char events[4096];
	bool any = false;

	while (read(control->fd, events, sizeof(events)) > 0)
		any = true;
	return any;
}

int control_take_burst(struct control *control, struct control_burst *ret, struct fault *reterr)
{
	struct control_burst burst = { .rate_hz = 499, .seconds = 5 };
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/" CONTROL_BURST, control->directory);
	r = config_file_read(path, keys, &burst, reterr);
	if (r == -ENOENT)
		return 0;
	unlink(path);
	if (r < 0) {
		free(burst.module);
		return r;
	}
	*ret = burst;
	return 1;
}
