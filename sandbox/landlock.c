/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"

/* Newer than the headers of older distributions; the values are the kernel's for ever. */
#define RIGHT_REFER (1ull << 13)
#define RIGHT_TRUNCATE (1ull << 14)
#define RIGHT_IOCTL_DEV (1ull << 15)
#define NET_BIND_TCP (1ull << 0)
#define NET_CONNECT_TCP (1ull << 1)
#define SCOPE_ABSTRACT_SOCKET (1ull << 0)
#define SCOPE_SIGNAL (1ull << 1)

#define RIGHTS_READ (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RIGHTS_WRITE                                                                                      \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_FIFO |       \
	 LANDLOCK_ACCESS_FS_MAKE_SYM)
#define RIGHTS_NEVER \
	(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK)
#define RIGHTS_OF_FILES                                                                              \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	 RIGHT_TRUNCATE)

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

/* What each interface brought; the rights of a ruleset are those of all interfaces up to the kernel's. */
static const struct level {
	int abi;
	struct ruleset_attr attr;
	uint64_t in_directory; /* given back in the directory that may be written */
	const char *without;   /* what can still be done on kernels before it */
} levels[] = {
	{ 1,
	  { .fs = RIGHTS_READ | RIGHTS_WRITE | RIGHTS_NEVER },
	  RIGHTS_READ | RIGHTS_WRITE,
	  "reach any file" },
	{ 2, { .fs = RIGHT_REFER }, RIGHT_REFER, NULL },
	{ 3, { .fs = RIGHT_TRUNCATE }, RIGHT_TRUNCATE, "truncate files" },
	{ 4, { .net = NET_BIND_TCP | NET_CONNECT_TCP }, 0, "use TCP" },
	{ 5, { .fs = RIGHT_IOCTL_DEV }, 0, "control devices" },
	{ 6,
	  { .scoped = SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL },
	  0,
	  "signal processes outside, connect to abstract sockets" },
};

int landlock_abi(void)
{
	long r = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return r < 0 ? 0 : (int)r;
}

const char *landlock_lacks(int abi)
{
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (abi < levels[i].abi && levels[i].without)
			return levels[i].without;
	return NULL;
}

static int rule_add(int ruleset, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = rights };
	_clean_(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= RIGHTS_OF_FILES;
	rule.parent_fd = fd;
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int landlock_enter(const char *directory, const char *const *readable, bool network, struct fault *reterr)
{
	struct ruleset_attr attr = { 0 };
	_clean_(fd_closep) int ruleset = -1;
	uint64_t in_directory = 0;
	int abi = landlock_abi(), r;

	if (!abi)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(levels) && levels[i].abi <= abi; i++) {
		attr.fs |= levels[i].attr.fs;
		attr.net |= levels[i].attr.net;
		attr.scoped |= levels[i].attr.scoped;
		in_directory |= levels[i].in_directory;
	}
	if (network)
		attr.net &= ~NET_CONNECT_TCP;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return fault_errno(reterr, -errno, "sandbox: landlock: no rules can be made");
	r = rule_add(ruleset, directory, in_directory);
	if (r == 0)
		r = rule_add(ruleset, "/dev/null",
			     LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
				     (attr.fs & RIGHT_TRUNCATE));
	for (; r == 0 && *readable; readable++)
		r = rule_add(ruleset, *readable, RIGHTS_READ);
	if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		r = -errno;
	return r < 0 ? fault_errno(reterr, r, "sandbox: landlock") : abi;
}
