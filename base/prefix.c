/* SPDX-License-Identifier: Apache-2.0 */

#include "base/prefix.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/config.h"

/* As the build was told, relative to the prefix; absolute where somebody wanted it so, which no prefix changes. */
static const struct {
	const char *relative, *configured;
} directories[] = {
	[PREFIX_BIN] = { MORPH_RELATIVE_BIN_DIR, MORPH_BIN_DIR },
	[PREFIX_SBIN] = { MORPH_RELATIVE_SBIN_DIR, MORPH_SBIN_DIR },
	[PREFIX_LIBEXEC] = { MORPH_RELATIVE_LIBEXEC_DIR, MORPH_LIBEXEC_DIR },
};

bool prefix_of(const char *self, char *ret)
{
	const char *slash = strrchr(self, '/');

	for (size_t i = 0; slash && i < ARRAY_SIZE(directories); i++) {
		const char *relative = directories[i].relative;
		size_t n = strlen(relative), length = (size_t)(slash - self);

		if (relative[0] == '/' || length <= n || length >= PATH_MAX ||
		    memcmp(self + length - n, relative, n) != 0 || self[length - n - 1] != '/')
			continue;
		memcpy(ret, self, length - n - 1);
		ret[length - n - 1] = '\0';
		return true;
	}
	return false;
}

/* The running file; empty when it must not be asked. */
static void self_read(char *ret)
{
	ssize_t n = getauxval(AT_SECURE) ? 0 : readlink("/proc/self/exe", ret, PATH_MAX - 1);

	ret[n > 0 ? n : 0] = '\0';
}

static bool candidate(const char *directory, const char *name, char *ret)
{
	return (size_t)snprintf(ret, PATH_MAX, "%s/%s", directory, name) < PATH_MAX && access(ret, X_OK) == 0;
}

static bool under_prefix(const char *self, enum prefix_directory directory, char *ret)
{
	char prefix[PATH_MAX];

	return prefix_of(self, prefix) && directories[directory].relative[0] != '/' &&
	       (size_t)snprintf(ret, PATH_MAX, "%s/%s", prefix, directories[directory].relative) < PATH_MAX;
}

int prefix_program(enum prefix_directory directory, const char *name, char *ret, struct fault *reterr)
{
	char self[PATH_MAX], place[PATH_MAX];

	self_read(self);
	if (under_prefix(self, directory, place) && candidate(place, name, ret))
		return 0;
	if (self[0]) {
		*strrchr(self, '/') = '\0';
		if (candidate(self, name, ret))
			return 0;
	}
	if (candidate(directories[directory].configured, name, ret))
		return 0;
	return fault_set(reterr, -ENOENT, "%s: %s; install Morph again", ret, strerror(errno));
}

void prefix_directory(enum prefix_directory directory, char *ret)
{
	char self[PATH_MAX];

	self_read(self);
	if (under_prefix(self, directory, ret) && access(ret, X_OK) == 0)
		return;
	if (self[0] && !prefix_of(self, ret)) { /* a build tree that is called otherwise */
		*strrchr(self, '/') = '\0';
		strcpy(ret, self);
		return;
	}
	snprintf(ret, PATH_MAX, "%s", directories[directory].configured);
}

void prefix_config(const char *name, char *ret)
{
	char self[PATH_MAX], prefix[PATH_MAX], drop_ins[PATH_MAX];

	self_read(self);
	if (prefix_of(self, prefix) && strcmp(prefix, "/usr") != 0 && prefix[0] &&
	    (size_t)snprintf(ret, PATH_MAX, "%s/etc/morph/%s", prefix, name) < PATH_MAX &&
	    (size_t)snprintf(drop_ins, PATH_MAX, "%s.d", ret) < PATH_MAX &&
	    (access(ret, F_OK) == 0 || access(drop_ins, F_OK) == 0))
		return;
	snprintf(ret, PATH_MAX, "/etc/morph/%s", name);
}
