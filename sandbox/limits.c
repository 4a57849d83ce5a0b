/* SPDX-License-Identifier: Apache-2.0 */

#include "sandbox/limits.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"

/* Each thread is a directory in task/, next to "." and "..": three links for the first one. */
static unsigned threads_of(int proc, const char *pid)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/task", pid);
	if (fstatat(proc, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_uid != getuid())
		return 0;
	return st.st_nlink > 2 ? (unsigned)st.st_nlink - 2 : 1;
}

unsigned limits_processes(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	unsigned n = 0;

	while (proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			n += threads_of(dirfd(proc), entry->d_name);
	if (proc)
		closedir(proc);
	return n;
}

static int limit_set(int which, uint64_t value, const char *name, struct fault *reterr)
{
	struct rlimit limit = { value, value }, now;

	if (getrlimit(which, &now) == 0 && now.rlim_max < value)
		limit = (struct rlimit){ now.rlim_max, now.rlim_max };
	if (value && setrlimit(which, &limit) < 0)
		return fault_errno(reterr, -errno, "sandbox: cannot limit %s to %llu", name,
				   (unsigned long long)value);
	return 0;
}

int limits_set(const struct sandbox_limits *limits, struct fault *reterr)
{
	const struct rlimit none = { 0, 0 };
	int r = limit_set(RLIMIT_AS, limits->memory_bytes, "memory", reterr);

	if (r == 0)
		r = limit_set(RLIMIT_FSIZE, limits->file_bytes, "file size", reterr);
	if (r == 0)
		r = limit_set(RLIMIT_CPU, limits->cpu_s, "CPU time", reterr);
	if (r == 0)
		r = limit_set(RLIMIT_NPROC, limits->n_processes, "processes", reterr);
	if (r == 0 && setrlimit(RLIMIT_CORE, &none) < 0)
		r = fault_errno(reterr, -errno, "sandbox: cannot forbid core files");
	return r;
}
