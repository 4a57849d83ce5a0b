/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/power.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define PROFILE "/sys/firmware/acpi/platform_profile"
#define PREFERENCE "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference"
#define THERMAL "/sys/class/thermal"

static const char *const saving_profiles[] = { "low-power", "quiet", "cool" };
/* Beginnings of the names of cooling devices that take speed from CPUs (drivers/acpi, drivers/thermal in Linux). */
static const char *const cpu_coolers[] = { "Processor", "cpufreq-", "thermal-cpufreq-", "thermal-cpuidle-",
					   "intel_powerclamp" };

/* The first line of a small file; "" when there is none. */
static void line_read(const char *path, char *ret, size_t size)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, size - 1);

	ret[MAX(n, 0)] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

static void below_read(const char *root, const char *path, char *ret, size_t size)
{
	char full[PATH_MAX];

	ret[0] = '\0';
	if (snprintf(full, sizeof(full), "%s%s", root, path) < (int)sizeof(full))
		line_read(full, ret, size);
}

bool power_is_saved(const char *root)
{
	char profile[64], preference[64];

	below_read(root, PROFILE, profile, sizeof(profile));
	for (size_t i = 0; i < ARRAY_SIZE(saving_profiles); i++)
		if (strcmp(profile, saving_profiles[i]) == 0)
			return true;
	below_read(root, PREFERENCE, preference, sizeof(preference));
	return strcmp(preference, "power") == 0;
}

static bool cooler_slows(const char *root, const char *name)
{
	char path[PATH_MAX], type[64], state[32];
	bool is_cpu = false;

	if (snprintf(path, sizeof(path), THERMAL "/%s/type", name) >= (int)sizeof(path))
		return false;
	below_read(root, path, type, sizeof(type));
	for (size_t i = 0; i < ARRAY_SIZE(cpu_coolers); i++)
		is_cpu |= strncmp(type, cpu_coolers[i], strlen(cpu_coolers[i])) == 0;
	if (!is_cpu)
		return false;
	snprintf(path, sizeof(path), THERMAL "/%s/cur_state", name);
	below_read(root, path, state, sizeof(state));
	return strtol(state, NULL, 10) > 0;
}

bool power_is_hot(const char *root)
{
	char directory[PATH_MAX];
	const struct dirent *entry;
	bool ret = false;
	DIR *dir;

	if (snprintf(directory, sizeof(directory), "%s" THERMAL, root) >= (int)sizeof(directory))
		return false;
	dir = opendir(directory);
	while (dir && !ret && (entry = readdir(dir)))
		ret = strncmp(entry->d_name, "cooling_device", 14) == 0 && cooler_slows(root, entry->d_name);
	if (dir)
		closedir(dir);
	return ret;
}
