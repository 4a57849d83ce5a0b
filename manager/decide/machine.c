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

/* First words of the names of flags that are instructions a compiler may choose. */
static const char *const instruction_flags[] = {
	"sse",	    "ssse",   "avx",	"fma",	   "f16c",	"bmi",		 "abm",	       "lzcnt",
	"popcnt",   "movbe",  "adx",	"aes",	   "vaes",	"pclmulqdq",	 "vpclmul",    "sha_ni",
	"sha512",   "sm3",    "sm4",	"gfni",	   "rdrand",	"rdseed",	 "fsgsbase",   "cx16",
	"cx8",	    "cmov",   "mmx",	"lahf_lm", "prefetchw", "3dnowprefetch", "clflushopt", "clwb",
	"cldemote", "movdir", "amx",	"xop",	   "tbm",	"rtm",		 "serialize",  "waitpkg",
	"rdpid",    "apx",    "xsavec", "ptwrite", "lwp",	"mwaitx",	 "clzero"
};

static bool flag_is_instruction(const char *flag)
{
	for (size_t i = 0; i < ARRAY_SIZE(instruction_flags); i++)
		if (strncmp(flag, instruction_flags[i], strlen(instruction_flags[i])) == 0)
			return true;
	return false;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Append the chosen words of @words, sorted. */
static void flags_append(char *words, bool all, char *ret, size_t size)
{
	char *flags[512], *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(words, " \t", &save); w && n < ARRAY_SIZE(flags);
	     w = strtok_r(NULL, " \t", &save))
		if (all || flag_is_instruction(w))
			flags[n++] = w;
	qsort(flags, n, sizeof(flags[0]), compare_texts);
	for (size_t i = 0; i < n; i++) {
		size_t at = strlen(ret);

		snprintf(ret + at, size - at, "%s%s", at ? " " : "", flags[i]);
	}
}

int machine_cpu(const struct settings *settings, char ret[MANAGER_CPU_TEXT], struct fault *reterr)
{
	static const char *const identity[] = { "vendor_id",	   "cpu family", "model",
						"CPU implementer", "CPU part",	 "CPU variant" };
	_clean_(freep) char *text = malloc(1 << 20);
	char *save = NULL;
	ssize_t n = text ? root_read(settings, "/proc/cpuinfo", text, 1 << 20) : -ENOMEM;

	if (n < 0)
		return fault_errno(reterr, (int)n, "/proc/cpuinfo");
	ret[0] = '\0';
	/* The first CPU speaks for all; its paragraph ends at the first empty line. */
	if (strstr(text, "\n\n"))
		*strstr(text, "\n\n") = '\0';
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(line, ':'), *end = colon;
		size_t at = strlen(ret);

		if (!colon)
			continue;
		while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
			end--;
		*end = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(identity); i++)
			if (strcmp(line, identity[i]) == 0)
				snprintf(ret + at, MANAGER_CPU_TEXT - at, "%s%s", at ? " " : "",
					 colon + 1 + strspn(colon + 1, " "));
		if (strcmp(line, "flags") == 0 || strcmp(line, "Features") == 0)
			flags_append(colon + 1, strcmp(line, "Features") == 0, ret, MANAGER_CPU_TEXT);
	}
	return ret[0] ? 0 : fault_set(reterr, -ENODATA, "/proc/cpuinfo: does not name the CPU");
}

uint64_t machine_free_bytes(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) < 0 ? UINT64_MAX : (uint64_t)fs.f_bavail * fs.f_frsize;
}
