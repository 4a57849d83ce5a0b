/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/masquerade.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"

static const struct {
	const char *name;
	bool is_cxx, is_gcc;
	const char *standard;
} compilers[] = {
	{ "gcc", false, true, NULL },	    { "g++", true, true, NULL },
	{ "cc", false, true, NULL },	    { "c++", true, true, NULL },
	{ "clang", false, false, NULL },    { "clang++", true, false, NULL },
	{ "c89", false, true, "-std=c89" }, { "c99", false, true, "-std=c99" },
};

/* "-12", "-4.9": how long that is at the end of @name */
static size_t version_size(const char *name)
{
	size_t n = strlen(name), end = n;

	while (n && (isdigit((unsigned char)name[n - 1]) || name[n - 1] == '.'))
		n--;
	return n && n < end && name[n - 1] == '-' ? end - n + 1 : 0;
}

#if defined(__aarch64__)
#define MACHINE "aarch64"
#else
#define MACHINE "x86_64"
#endif

bool masquerade_read(const char *path, struct masquerade *ret)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(name) - version_size(name);

	*ret = (struct masquerade){ .name = name };
	for (size_t i = 0; i < ARRAY_SIZE(compilers); i++) {
		size_t size = strlen(compilers[i].name), before = n - size;

		if (n < size || memcmp(name + before, compilers[i].name, size) != 0 ||
		    (before && name[before - 1] != '-') || strncmp(name, "morph-", 6) == 0)
			continue;
		ret->is_cxx = compilers[i].is_cxx;
		ret->is_gcc = compilers[i].is_gcc;
		ret->standard = compilers[i].standard;
		ret->is_foreign =
			before && (strncmp(name, MACHINE "-", sizeof(MACHINE)) != 0 ||
				   !memmem(name, before, "linux", 5) || memmem(name, before, "x32", 3));
		return true;
	}
	ret->is_cxx = n >= 2 && strcmp(name + strlen(name) - 2, "++") == 0;
	return false;
}

/* Is the file @name of @directory (empty: the working directory) this program? @retthere: can it be run at all? */
static bool is_self(const char *directory, size_t n, const char *name, const struct stat *self,
		    bool *retthere)
{
	char path[PATH_MAX];
	struct stat st;

	*retthere = false;
	if ((size_t)snprintf(path, sizeof(path), "%.*s%s%s", (int)n, directory, n ? "/" : "", name) >=
		    sizeof(path) ||
	    stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return false;
	*retthere = true;
	return st.st_dev == self->st_dev && st.st_ino == self->st_ino;
}

int masquerade_leave(const char *name, struct fault *reterr)
{
	const char *path = getenv("PATH");
	_clean_(buffer_donep) struct buffer left = { 0 };
	bool found = false;
	struct stat self;

	if (stat("/proc/self/exe", &self) < 0)
		return fault_errno(reterr, -errno, "/proc/self/exe");
	for (const char *p = path ? path : "/usr/bin:/bin";; p++) {
		size_t n = strcspn(p, ":");
		bool there, is_ours = is_self(p, n, name, &self, &there);

		found |= there && !is_ours;
		if (!is_ours) {
			buffer_bytes(&left, ":", left.size > 0);
			buffer_bytes(&left, p, n);
		}
		p += n;
		if (!*p)
			break;
	}
	buffer_u8(&left, 0);
	if (left.bad || setenv("PATH", (const char *)left.data, 1) < 0)
		return fault_errno(reterr, -ENOMEM, "PATH");
	return found ? 0 :
		       fault_set(reterr, -ENOENT, "%s: no such compiler in PATH behind Morph's; install it",
				 name);
}
