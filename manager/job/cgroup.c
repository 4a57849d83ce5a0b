/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/job/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "manager/keep/path.h"

#define NAME "morph-edit." /* and the process ID of morphd, and a number */
#define END_MS 3000

/* Where version 2 is mounted, and which group its root is there ("/" but in containers). */
static bool mount_find(char point[PATH_MAX], char root[PATH_MAX])
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[3 * PATH_MAX];
	bool ret = false;

	while (file && !ret && fgets(line, sizeof(line), file))
		ret = strstr(line, " - cgroup2 ") &&
		      sscanf(line, "%*d %*d %*s %4095s %4095s", root, point) == 2;
	if (file)
		fclose(file);
	return ret;
}

/* The line of version 2: "0::/path". */
static bool own_name(char ret[PATH_MAX])
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX + 8];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		found = strncmp(line, "0::/", 4) == 0;
	}
	if (file)
		fclose(file);
	if (found)
		snprintf(ret, PATH_MAX, "%.*s", PATH_MAX - 1, line + 3);
	return found;
}

int cgroup_find(const char *name, char ret[PATH_MAX], struct fault *reterr)
{
	char point[PATH_MAX], root[PATH_MAX], own[PATH_MAX];
	size_t n;

	if (!mount_find(point, root) || (!name && !own_name(own)))
		return fault_set(reterr, -ENOENT, "no cgroup2 file system is mounted");
	name = name ?: own;
	n = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (n && strncmp(name, root, n) == 0)
		name += n;
	if (snprintf(ret, PATH_MAX, "%s%s", point, strcmp(name, "/") == 0 ? "" : name) >= PATH_MAX)
		return fault_errno(reterr, -ENAMETOOLONG, "%s", point);
	return 0;
}

static int value_write(const char *directory, const char *name, const char *value)
{
	_clean_(fd_closep) int fd = -1;
	char path[PATH_MAX];

	fd = open(path_join(directory, name, path), O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, value, strlen(value)) < 0 ? -errno : 0;
}

int cgroup_make(struct cgroup *ret, struct fault *reterr)
{
	static unsigned n;
	char parent[PATH_MAX], name[64], path[PATH_MAX], half[32];
	int r = cgroup_find(NULL, parent, reterr);

	*ret = CGROUP_NONE;
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), NAME "%d.%u", (int)getpid(), n++);
	path_join(parent, name, path);
	if (mkdir(path, 0755) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	snprintf(ret->path, sizeof(ret->path), "%s", path);
	ret->procs = open(path_join(ret->path, "cgroup.procs", path), O_WRONLY | O_CLOEXEC);
	r = ret->procs < 0 ? fault_errno(reterr, -errno, "%s", path) : 0;
	if (r == 0 && access(path_join(ret->path, "cgroup.freeze", path), W_OK) < 0)
		r = fault_errno(reterr, -errno, "%s", path);
	if (r < 0) {
		cgroup_remove(ret);
		return r;
	}
	/* There only where the controllers were given to our group. */
	snprintf(half, sizeof(half), "%lld", (long long)sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE));
	value_write(ret->path, "memory.high", half);
	value_write(ret->path, "cpu.idle", "1");
	return 0;
}

int cgroup_enter(const struct cgroup *cgroup)
{
	return cgroup->procs >= 0 && write(cgroup->procs, "0", 1) != 1 ? -errno : 0;
}

int cgroup_freeze(const char *path, bool freeze, struct fault *reterr)
{
	int r = value_write(path, "cgroup.freeze", freeze ? "1" : "0");

	return r < 0 ? fault_errno(reterr, r, "%s/cgroup.freeze", path) : 0;
}

uint64_t cgroup_cpu_us(const char *path)
{
	_clean_(fd_closep) int fd = -1;
	char file[PATH_MAX], text[128] = "";
	unsigned long long us = 0;

	fd = open(path_join(path, "cpu.stat", file), O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || sscanf(text, "usage_usec %llu", &us) != 1)
		return 0;
	return us;
}

/* Where the kernel has no cgroup.kill (before 5.14). */
static void members_kill(const char *path)
{
	char file[PATH_MAX];
	FILE *procs = fopen(path_join(path, "cgroup.procs", file), "re");
	int pid;

	while (procs && fscanf(procs, "%d", &pid) == 1)
		if (pid > 1)
			kill(pid, SIGKILL);
	if (procs)
		fclose(procs);
}

static void path_remove(const char *path)
{
	if (rmdir(path) == 0 || errno == ENOENT)
		return;
	/* SIGKILL reaches what is frozen, too. */
	for (unsigned i = 0; i < END_MS / 10 && rmdir(path) < 0 && errno == EBUSY; i++) {
		if (value_write(path, "cgroup.kill", "1") < 0)
			members_kill(path);
		usleep(10000);
	}
}

void cgroup_remove(struct cgroup *cgroup)
{
	fd_closep(&cgroup->procs);
	if (cgroup->path[0])
		path_remove(cgroup->path);
	*cgroup = CGROUP_NONE;
}

void cgroup_clean(void)
{
	char parent[PATH_MAX], path[PATH_MAX];
	DIR *dir = cgroup_find(NULL, parent, NULL) < 0 ? NULL : opendir(parent);
	const struct dirent *entry;
	int pid;

	while (dir && (entry = readdir(dir)))
		if (sscanf(entry->d_name, NAME "%d.", &pid) == 1 && pid > 0 &&
		    (pid == getpid() || (kill(pid, 0) < 0 && errno == ESRCH)))
			path_remove(path_join(parent, entry->d_name, path));
	if (dir)
		closedir(dir);
}
