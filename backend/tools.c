/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/tools.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/config.h"
#include "base/prefix.h"

static const struct {
	const char *tool, *package;
} packages[] = {
	{ "clang", "clang-22" },
	{ "clang++", "clang-22" },
	{ "ld.lld", "lld-22" },
	{ "llvm-objcopy", "llvm-22" },
};

static const char *package_of(const char *tool)
{
	for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
		if (strcmp(packages[i].tool, tool) == 0)
			return packages[i].package;
	return "llvm-22";
}

int tool_llvm(const char *name, char *ret, size_t size, struct fault *reterr)
{
	const char *dir = getenv("MORPH_LLVM_DIR");

	if (!dir || !*dir)
		dir = MORPH_LLVM_DIR;
	if ((size_t)snprintf(ret, size, "%s/bin/%s", dir, name) >= size)
		return fault_errno(reterr, -ENAMETOOLONG, "%s", dir);
	if (access(ret, X_OK) < 0)
		return fault_set(reterr, -ENOENT, "%s: %s; install the package %s", ret, strerror(errno),
				 package_of(name));
	return 0;
}

int tool_own(const char *name, char *ret, size_t size, struct fault *reterr)
{
	char path[PATH_MAX];
	int r = prefix_program(PREFIX_LIBEXEC, name, path, reterr);

	if (r == 0 && (size_t)snprintf(ret, size, "%s", path) >= size)
		return fault_errno(reterr, -ENAMETOOLONG, "%s", path);
	return r;
}

int tool_directory(const char *name, char **ret, struct fault *reterr)
{
	const char *dir = getenv("TMPDIR");
	char *path = NULL;

	if (asprintf(&path, "%s/%s-XXXXXX", dir && *dir ? dir : "/tmp", name) < 0)
		return fault_errno(reterr, -ENOMEM, "temporary directory");
	if (!mkdtemp(path)) {
		int r = fault_errno(reterr, -errno, "%s", path);

		free(path);
		return r;
	}
	*ret = path;
	return 0;
}

int tool_input(const void *bytes, size_t size, int *retfd, struct fault *reterr)
{
	_clean_(fd_closep) int fd = memfd_create("morph", 0);
	size_t at = 0;

	while (fd >= 0 && at < size) {
		ssize_t n = write(fd, (const char *)bytes + at, size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fault_errno(reterr, -errno, "a file in memory");
		at += (size_t)n;
	}
	if (fd < 0)
		return fault_errno(reterr, -errno, "a file in memory");
	*retfd = fd;
	fd = -1;
	return 0;
}
