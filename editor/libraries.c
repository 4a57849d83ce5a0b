/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/libraries.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/library_path.h"
#include "base/macro.h"
#include "editor/link/relink.h"
#include "module/dynamic.h"

#define OWN_MAX 256u		       /* libraries */
#define OWN_BYTES_MAX ((off_t)1 << 30) /* of all */

static int place_path(const char *soname, size_t size, const char *directory, char **ret,
		      struct fault *reterr)
{
	_clean_(freep) char *libraries = NULL;

	*ret = NULL;
	if (asprintf(&libraries, "%s/" RELINK_LIBRARIES, directory) < 0) {
		libraries = NULL;
		return fault_errno(reterr, -ENOMEM, "libraries");
	}
	if (asprintf(ret, "%s/%.*s", libraries, (int)size, soname) < 0) {
		*ret = NULL;
		return fault_errno(reterr, -ENOMEM, "libraries");
	}
	return file_mkdirs(libraries, 0755, reterr);
}

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
		_clean_(freep) char *path = NULL;

		r = place_path(libraries[i], (size_t)(equals - libraries[i]), directory, &path, reterr);
		if (r == 0)
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
	bool all_may_read;
	const char *directory;
	off_t bytes; /* that were copied */
};

static bool is_shared_library(int fd)
{
	Elf64_Ehdr header;

	return pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
	       memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_DYN;
}

/* What was looked at is what is copied, whatever the path leads to by now. Devices and pipes are not even opened. */
static int own_copy(struct own *own, const char *found, const char *to, struct fault *reterr)
{
	_clean_(fd_closep) int place = open(found, O_PATH | O_CLOEXEC);
	_clean_(fd_closep) int fd = -1;
	char opened[64];
	struct stat st;

	if (place < 0 || fstat(place, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (own->all_may_read && !(st.st_mode & S_IROTH)) || st.st_size > OWN_BYTES_MAX - own->bytes)
		return 0;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", place);
	fd = open(opened, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !is_shared_library(fd))
		return 0;
	own->bytes += st.st_size;
	return library_copy(opened, to, reterr);
}

static int own_place(struct own *own, const char *soname, struct fault *reterr)
{
	_clean_(freep) char *to = NULL;
	char found[PATH_MAX];
	struct fault fault;
	int r;

	if (!*soname || strchr(soname, '/') || library_find(soname, &own->search, found, &fault) < 0 ||
	    is_in_sight(found))
		return 0;
	r = place_path(soname, strlen(soname), own->directory, &to, reterr);
	return r < 0 || access(to, F_OK) == 0 ? r : own_copy(own, found, to, reterr);
}

int libraries_own(const struct image *program, const char *installed, bool all_may_read,
		  const char *directory, struct fault *reterr)
{
	_clean_(freep) char *origin = installed[0] == '/' ? strdup(installed) : realpath(installed, NULL);
	struct own own = { .search.origin = origin, .all_may_read = all_may_read, .directory = directory };
	struct dynamic dynamic;
	unsigned n = 0;
	Elf64_Dyn entry;
	int r = 0;

	if (dynamic_open(program, &dynamic, NULL) < 0)
		return 0; /* the edit says what is wrong */
	own.search.run_path = dynamic_run_path(&dynamic, NULL);
	if (origin)
		*strrchr(origin, '/') = '\0';
	for (size_t i = 0; (entry = dynamic_at(&dynamic, i)).d_tag != DT_NULL && r == 0 && n < OWN_MAX; i++) {
		const char *soname =
			entry.d_tag == DT_NEEDED ? dynamic_string(&dynamic, entry.d_un.d_val) : NULL;

		n += soname != NULL;
		if (soname)
			r = own_place(&own, soname, reterr);
	}
	return r;
}
