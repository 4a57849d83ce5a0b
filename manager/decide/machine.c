/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/decide/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/macro.h"
#include "base/power.h"
#include "manager/keep/path.h"

/* A file of /proc or /sys as text: their sizes are not known beforehand. -errno or the length. */
static ssize_t text_read(const char *path, char *ret, size_t size)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	if (fd < 0)
		return -errno;
	while (n < size - 1) {
		ssize_t got = read(fd, ret + n, size - 1 - n);

		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	ret[n] = '\0';
	return (ssize_t)n;
}

static ssize_t root_read(const struct settings *settings, const char *path, char *ret, size_t size)
{
	char full[PATH_MAX];

	if (!settings_path(settings, path, full))
		return -ENAMETOOLONG;
	return text_read(full, ret, size);
}

static void supply_read(const char *directory, const char *name, bool *battery, bool *mains)
{
	char supply[PATH_MAX], path[PATH_MAX], type[64], online[16];

	path_join(directory, name, supply);
	if (text_read(path_join(supply, "type", path), type, sizeof(type)) <= 0)
		return;
	if (strcmp(type, "Battery\n") == 0) {
		/* A mouse's battery has scope Device; it does not run the machine. */
		path_join(supply, "scope", path);
		if (text_read(path, online, sizeof(online)) <= 0 || strncmp(online, "Device", 6) != 0)
			*battery = true;
		return;
	}
	if (text_read(path_join(supply, "online", path), online, sizeof(online)) > 0 && online[0] != '0')
		*mains = true;
}

static bool battery_read(const struct settings *settings)
{
	bool battery = false, mains = false;
	char directory[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	if (!settings_path(settings, "/sys/class/power_supply", directory))
		return false;
	dir = opendir(directory);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			supply_read(directory, entry->d_name, &battery, &mains);
	if (dir)
		closedir(dir);
	return battery && !mains;
}

static unsigned cpus_count(const struct settings *settings)
{
	unsigned first, last, n = 0;
	char text[4096], *p = text;
	int used;

	if (root_read(settings, "/sys/devices/system/cpu/online", text, sizeof(text)) <= 0)
		return 1;
	while (sscanf(p, "%u%n", &first, &used) == 1) {
		p += used;
		last = first;
		if (*p == '-' && sscanf(p + 1, "%u%n", &last, &used) == 1)
			p += used + 1;
		n += last >= first ? last - first + 1 : 1;
		if (*p == ',')
			p++;
	}
	return n ? n : 1;
}

double machine_pressure(const struct settings *settings)
{
	char text[4096];
	const char *some;
	double ret = -1;

	if (root_read(settings, "/proc/pressure/cpu", text, sizeof(text)) > 0 &&
	    (some = strstr(text, "some avg10=")))
		sscanf(some, "some avg10=%lf", &ret);
	return ret;
}

bool machine_busy_us(const struct settings *settings, uint64_t *ret, unsigned *retn_cpus)
{
	unsigned long long user, nice, kernel, interrupts, soft;
	const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	char text[512];

	/* Time of guests is in that of user; what the hypervisor took is nobody's here. */
	if (root_read(settings, "/proc/stat", text, sizeof(text)) <= 0 ||
	    sscanf(text, "cpu %llu %llu %llu %*u %*u %llu %llu", &user, &nice, &kernel, &interrupts, &soft) !=
		    5)
		return false;
	*ret = (user + nice + kernel + interrupts + soft) * (1000000 / hz);
	*retn_cpus = cpus_count(settings);
	return true;
}

void machine_load_read(const struct settings *settings, struct machine_load *ret)
{
	char text[4096];

	*ret = (struct machine_load){ .pressure = machine_pressure(settings), .load = -1 };
	if (root_read(settings, "/proc/loadavg", text, sizeof(text)) > 0 &&
	    sscanf(text, "%lf", &ret->load) == 1)
		ret->load /= cpus_count(settings);
	ret->on_battery = battery_read(settings);
	ret->saves_power = power_is_saved(settings->root);
	ret->is_hot = power_is_hot(settings->root);
}

bool machine_is_idle(const struct settings *settings, const struct machine_load *load, char *retwhy,
		     size_t size)
{
	if (load->on_battery && !settings->on_battery)
		snprintf(retwhy, size, "the machine runs on battery");
	else if (load->saves_power && !settings->on_battery)
		snprintf(retwhy, size, "the machine's power profile saves power");
	else if (load->is_hot)
		snprintf(retwhy, size, "the machine is hot, and slows its CPUs down");
	else if (load->used_by && *load->used_by && !settings->beside_user)
		snprintf(retwhy, size, "somebody works at the machine (session %s)", load->used_by);
	else if (load->pressure > settings->idle_pressure)
		snprintf(retwhy, size, "the machine is busy (CPU pressure %.1f %%, allowed %.1f %%)",
			 load->pressure, settings->idle_pressure);
	else if (load->load > settings->idle_load)
		snprintf(retwhy, size, "the machine is busy (load %.2f per CPU, allowed %.2f)", load->load,
			 settings->idle_load);
	else
		return true;
	return false;
}

uint64_t machine_free_bytes(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) < 0 ? UINT64_MAX : (uint64_t)fs.f_bavail * fs.f_frsize;
}
