/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/libraries.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/library_path.h"
#include "base/macro.h"
#include "module/dynamic.h"

#define OWN_MAX 256u		       /* libraries */
#define OWN_BYTES_MAX ((off_t)1 << 30) /* of all */

static int library_copy(const char *from, const char *to, struct fault *reterr)
{
	int r = file_copy(from, to, reterr);

	return r == 0 && chmod(to, 0644) < 0 ? fault_errno(reterr, -errno, "%s", to) : r;
}

int libraries_given(const char *const *libraries, size_t n, const char *directory, struct fault *reterr)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const char *equals = strchr(libraries[i], '=');
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%.*s", directory, (int)(equals - libraries[i]),
			 libraries[i]);
		r = library_copy(equals + 1, path, reterr);
	}
	return r;
}

/* ---- the program's own ---- */

/* What SANDBOX_SYSTEM has of directories with libraries (sandbox/sandbox.h). */
static bool is_in_sight(const char *path)
{
	static const char *const directories[] = { "/usr/", "/lib/", "/lib64/" };
	_clean_(freep) char *real = realpath(path, NULL);

	for (size_t i = 0; real && i < ARRAY_SIZE(directories); i++)
		if (strncmp(real, directories[i], strlen(directories[i])) == 0)
			return true;
	return false;
}

struct own {
	struct library_search search;
	uid_t uid; /* of the sandbox; -1: the caller's */
	gid_t gid;
	const char *directory;
	off_t bytes; /* that were copied */
};

static bool is_shared_library(int fd)
{
	Elf64_Ehdr header;

	return pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
	       memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_DYN;
}

/* As the user of the sandbox: whoever may not look into a directory opens nothing in it. O_PATH runs no driver and waits for no pipe. */
static int own_open(const struct own *own, const char *path, int flags)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int fd;

	if (own->uid == (uid_t)-1)
		return open(path, flags | O_CLOEXEC);
	setfsgid(own->gid);
	setfsuid(own->uid);
	fd = open(path, flags | O_CLOEXEC);
	setfsuid(uid);
	setfsgid(gid);
	return fd;
}

/* What was looked at is what is copied, whatever the path leads to by now. Devices and pipes are not even opened. */
static int own_copy(struct own *own, const char *found, const char *to, struct fault *reterr)
{
	_clean_(fd_closep) int place = own_open(own, found, O_PATH);
	_clean_(fd_closep) int fd = -1;
	char opened[64];
	struct stat st;

	if (place < 0 || fstat(place, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > OWN_BYTES_MAX - own->bytes)
		return 0;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", place);
	fd = own_open(own, opened, O_RDONLY);
	if (fd < 0 || !is_shared_library(fd))
		return 0;
	own->bytes += st.st_size;
	return library_copy(opened, to, reterr);
}

static int own_place(struct own *own, const char *soname, struct fault *reterr)
{
	char found[PATH_MAX], to[PATH_MAX];
	struct fault fault;

	if (!*soname || strchr(soname, '/') || library_find(soname, &own->search, found, &fault) < 0 ||
	    is_in_sight(found))
		return 0;
	snprintf(to, sizeof(to), "%s/%s", own->directory, soname);
	return access(to, F_OK) == 0 ? 0 : own_copy(own, found, to, reterr);
}

int libraries_own(const struct image *program, const char *origin, uid_t uid, gid_t gid,
		  const char *directory, struct fault *reterr)
{
	struct own own = { .search.origin = origin, .uid = uid, .gid = gid, .directory = directory };
	struct dynamic dynamic;
	unsigned n = 0;
	Elf64_Dyn entry;
	int r = 0;

	if (dynamic_open(program, &dynamic, NULL) < 0)
		return 0; /* the edit says what is wrong */
	own.search.run_path = dynamic_run_path(&dynamic, NULL);
	for (size_t i = 0; (entry = dynamic_at(&dynamic, i)).d_tag != DT_NULL && r == 0 && n < OWN_MAX; i++) {
		const char *soname =
			entry.d_tag == DT_NEEDED ? dynamic_string(&dynamic, entry.d_un.d_val) : NULL;

		n += soname != NULL;
		if (soname)
			r = own_place(&own, soname, reterr);
	}
	return r;
}
