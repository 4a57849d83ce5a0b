/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/job/slice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <systemd/sd-bus.h>

#include "base/log.h"
#include "manager/job/cgroup.h"
#include "manager/keep/path.h"

#define GROUP "/" SLICE_NAME /* as systemd names it (systemd.slice(5)) */
#define CALL_US 2000000

static int connect_to_systemd(struct manager *m, sd_bus **ret)
{
	char path[PATH_MAX], address[PATH_MAX + 16];
	_clean_(sd_bus_unrefp) sd_bus *bus = NULL;
	int r;

	if (!settings_path(&m->settings, "/run/systemd/private", path))
		return -ENAMETOOLONG;
	if (access(path, F_OK) < 0)
		return -errno;
	snprintf(address, sizeof(address), "unix:path=%s", path);
	r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_address(bus, address);
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r >= 0)
		*ret = TAKE(bus);
	return r;
}

bool slice_can_freeze(void)
{
	/* What systemd itself goes by (cg_freezer_supported()). */
	return access("/sys/fs/cgroup/init.scope/cgroup.freeze", F_OK) == 0;
}

int slice_freeze(struct manager *m, bool freeze, struct fault *reterr)
{
	_clean_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	_clean_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
	_clean_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	const char *member = freeze ? "FreezeUnit" : "ThawUnit";
	int r = connect_to_systemd(m, &bus);

	if (r >= 0)
		r = sd_bus_message_new_method_call(bus, &call, "org.freedesktop.systemd1",
						   "/org/freedesktop/systemd1",
						   "org.freedesktop.systemd1.Manager", member);
	if (r >= 0)
		r = sd_bus_message_append(call, "s", SLICE_NAME);
	if (r >= 0)
		r = sd_bus_call(bus, call, CALL_US, &error, NULL);
	if (r >= 0)
		return 0;
	return fault_set(reterr, r, "systemd cannot %s " SLICE_NAME ": %s", freeze ? "freeze" : "thaw",
			 error.message ?: strerror(-r));
}

uint64_t slice_cpu_us(void)
{
	char path[PATH_MAX];

	return cgroup_find(GROUP, path, NULL) < 0 ? 0 : cgroup_cpu_us(path);
}

void slice_clean(struct manager *m)
{
	_clean_(fd_closep) int fd = -1;
	struct fault fault = { "" };
	char path[PATH_MAX], file[PATH_MAX], value = '0';

	if (cgroup_find(GROUP, path, NULL) < 0)
		return;
	fd = open(path_join(path, "cgroup.freeze", file), O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &value, 1) != 1 || value != '1')
		return;
	if (slice_freeze(m, false, &fault) < 0)
		log_error("%s; `systemctl thaw " SLICE_NAME "`", fault.text);
}
