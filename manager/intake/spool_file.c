/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/intake/spool_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "manager/keep/journal.h"
#include "manager/keep/path.h"

void spool_file_done(struct spool_file *file)
{
	if (file->dir_fd >= 0)
		close(file->dir_fd);
	buffer_done(&file->bytes);
}

/* read(2), not mmap(2): a file that shrinks meanwhile must not kill us. */
static int bytes_read(int fd, struct buffer *ret)
{
	_clean_(freep) char *chunk = malloc(1 << 16);
	ssize_t n;

	if (!chunk)
		return -ENOMEM;
	while ((n = read(fd, chunk, 1 << 16)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		buffer_bytes(ret, chunk, (size_t)n);
		if (ret->bad || ret->size > SPOOL_MAX_BYTES)
			return ret->bad ? -ENOMEM : -EFBIG;
	}
	return 0;
}

int spool_file_read(const char *spool, const char *name, struct spool_file *file, struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;
	struct stat st;
	int r;

	*file = (struct spool_file){ .name = name };
	file->dir_fd = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (file->dir_fd < 0)
		return fault_errno(reterr, -errno, "%s", spool);
	fd = openat(file->dir_fd, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && (errno == ELOOP || errno == ENXIO))
		return fault_set(reterr, -EBADMSG, "%s/%s: not a regular file", spool, file->name);
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s/%s", spool, file->name);
	if (fstat(fd, &st) < 0)
		return fault_errno(reterr, -errno, "%s/%s", spool, file->name);
	if (!S_ISREG(st.st_mode))
		return fault_set(reterr, -EBADMSG, "%s/%s: not a regular file", spool, file->name);
	r = bytes_read(fd, &file->bytes);
	if (r == -EFBIG)
		return fault_set(reterr, -EBADMSG, "%s/%s: larger than %u MiB", spool, file->name,
				 SPOOL_MAX_BYTES >> 20);
	if (r < 0)
		return fault_errno(reterr, r, "%s/%s", spool, file->name);
	r = digest_bytes(file->bytes.data, file->bytes.size, file->digest);
	return r < 0 ? fault_errno(reterr, r, "%s/%s", spool, file->name) : 0;
}

/* Keep the newest few: a broken writer must not fill the disk. */
static void damaged_prune(int spool_fd)
{
	int fd = openat(spool_fd, SPOOL_DAMAGED, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char oldest[NAME_MAX + 1] = "";
	struct timespec age = { 0 };
	struct dirent *entry;
	unsigned n = 0;

	while (dir && (entry = readdir(dir))) {
		struct stat st;

		if (entry->d_name[0] == '.' || fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (n++ == 0 || st.st_ctim.tv_sec < age.tv_sec) {
			snprintf(oldest, sizeof(oldest), "%s", entry->d_name);
			age = st.st_ctim;
		}
	}
	if (n > SPOOL_DAMAGED_MAX)
		unlinkat(fd, oldest, 0);
	if (dir)
		closedir(dir);
}

int spool_file_set_aside(struct manager *m, const struct spool_file *file, const struct fault *why,
			 struct fault *reterr)
{
	char to[NAME_MAX + 16], damaged[PATH_MAX];
	int r = file_mkdirs(path_join(m->spool, SPOOL_DAMAGED, damaged), 0700, reterr);

	if (r < 0)
		return r;
	snprintf(to, sizeof(to), SPOOL_DAMAGED "/%s", file->name);
	if (renameat(file->dir_fd, file->name, file->dir_fd, to) < 0)
		return fault_errno(reterr, -errno, "%s/%s: damaged, and it cannot be moved to %s", m->spool,
				   file->name, SPOOL_DAMAGED);
	damaged_prune(file->dir_fd);
	/* There before it is no longer here, and both before it is said: it is counted as damaged once. */
	r = file_sync_directory(damaged, reterr);
	if (r == 0)
		r = file_sync_directory(m->spool, reterr);
	if (r < 0)
		return r;
	r = journal_event(m->state, 0, NULL, EVENT_DAMAGED, reterr, "%s; moved to %s/%s", why->text, m->spool,
			  to);
	if (r == 0)
		r = journal_total(m->state, "damaged_files", 1, reterr);
	return r;
}

int spool_file_remember(struct manager *m, const struct spool_file *file, int64_t *retserial,
			struct fault *reterr)
{
	int64_t known;
	int r = state_integer(m->state, &known, reterr,
			      "SELECT count(*) FROM spool_file WHERE name = ? AND digest = ?", "tt",
			      file->name, file->digest);

	if (r < 0 || known)
		return r < 0 ? r : 1;
	r = state_do(m->state, reterr, "INSERT INTO spool_file(name, digest) VALUES(?, ?)", "tt", file->name,
		     file->digest);
	*retserial = state_last_id(m->state);
	if (r == 0)
		r = state_do(m->state, reterr, "DELETE FROM spool_file WHERE serial <= ?", "i",
			     *retserial - SPOOL_REMEMBERED);
	return r;
}

int spool_file_delete(struct manager *m, const struct spool_file *file, struct fault *reterr)
{
	if (unlinkat(file->dir_fd, file->name, 0) < 0 && errno != ENOENT)
		return fault_errno(reterr, -errno, "%s/%s: taken, but it cannot be deleted", m->spool,
				   file->name);
	return 0;
}
