/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/perf/process_maps.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"

/* The kernel writes newlines in names as \012, and only those. */
static void name_unescape(char *name)
{
	char *to = name;

	for (const char *from = name; *from; to++) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

bool process_maps_parse(char *line, struct process_mapping *ret)
{
	struct process_mapping mapping = { 0 };
	char protection[5];
	int name_at = 0;
	char *name;

	/* 7f00-7f80 r-xp 00000000 fe:00 131                        /usr/lib/libc.so.6 */
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 "%n",
		   &mapping.start, &mapping.end, protection, &mapping.offset, &mapping.major, &mapping.minor,
		   &mapping.inode, &name_at) != 7 ||
	    !name_at || strlen(protection) != 4 || protection[2] != 'x' || mapping.start >= mapping.end)
		return false;
	name = line + name_at + strspn(line + name_at, " ");
	name[strcspn(name, "\n")] = '\0';
	name_unescape(name);
	mapping.name = name;
	*ret = mapping;
	return true;
}

int process_maps_each(pid_t pid, int (*each)(const struct process_mapping *mapping, void *closure),
		      void *closure)
{
	_clean_(freep) char *line = NULL;
	char path[64];
	size_t size = 0;
	FILE *file;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (r == 0 && getline(&line, &size, file) > 0) {
		struct process_mapping mapping;

		if (process_maps_parse(line, &mapping))
			r = each(&mapping, closure);
	}
	fclose(file);
	return r;
}

unsigned process_n_threads(pid_t pid)
{
	unsigned n = 0;
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

double process_age_s(pid_t pid)
{
	unsigned long long start =
		0; /* in clock ticks since boot: field 22; the name before may hold anything */
	char path[64], line[1024] = "", *at;
	struct timespec now;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (file && !fgets(line, sizeof(line), file))
		line[0] = '\0';
	if (file)
		fclose(file);
	at = strrchr(line, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	clock_gettime(CLOCK_BOOTTIME, &now);
	if (!at || sscanf(at, "%llu", &start) != 1)
		return 0;
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)start / (double)sysconf(_SC_CLK_TCK);
}

void process_comm(pid_t pid, char ret[16])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (!file || !fgets(ret, 16, file))
		strcpy(ret, "?");
	ret[strcspn(ret, "\n")] = '\0';
	if (file)
		fclose(file);
}
