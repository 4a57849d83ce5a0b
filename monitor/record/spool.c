/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/record/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"

#define DIRECTORY_MODE 0770 /* the manager's group takes files away */
#define FILE_MODE 0640
#define TEMPORARY ".writing-"
#define LOCK_NAME ".lock"
#define FILE_OVERHEAD_BYTES 4096u
#define SECONDS_MAX 10000000000u /* since 1970: what says more was not named by us */

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && strcmp(name + n - m, suffix) == 0;
}

static bool is_ours(const char *name)
{
	return name[0] != '.' && (has_suffix(name, SPOOL_SUFFIX) || has_suffix(name, LIFECYCLE_SUFFIX));
}

static int lock(struct spool *spool, struct fault *reterr)
{
	char path[PATH_MAX], pid[32] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/" LOCK_NAME, spool->directory);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (pread(fd, pid, sizeof(pid) - 1, 0) > 0)
			pid[strcspn(pid, "\n")] = '\0';
		close(fd);
		return fault_set(reterr, -EBUSY, "%s: another monitor (process %s) writes to this spool",
				 spool->directory, pid[0] ? pid : "?");
	}
	spool->lock = fd;
	snprintf(pid, sizeof(pid), "%d\n", getpid());
	/* The PID is for messages only; on a full disk the lock works without. */
	n = ftruncate(fd, 0) < 0 ? 0 : pwrite(fd, pid, strlen(pid), 0);
	return n < 0 && errno != ENOSPC && errno != EDQUOT ? fault_errno(reterr, -errno, "%s", path) : 0;
}

/* What a killed monitor had not finished. */
static void remove_unfinished(const struct spool *spool)
{
	DIR *dir = opendir(spool->directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)) == 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}

/* The time in the newest file's name; 0: there is none. */
static uint64_t newest_find(const struct spool *spool)
{
	DIR *dir = opendir(spool->directory);
	struct dirent *entry;
	uint64_t s, ns, ret = 0;

	while (dir && (entry = readdir(dir)))
		if (is_ours(entry->d_name) &&
		    sscanf(entry->d_name, "%12" SCNu64 "-%9" SCNu64 "-", &s, &ns) == 2 && s < SECONDS_MAX)
			ret = MAX(ret, s * 1000000000 + ns);
	if (dir)
		closedir(dir);
	return ret;
}

int spool_open(const char *directory, uint64_t limit_bytes, struct spool *ret, struct fault *reterr)
{
	struct spool spool = { .lock = -1, .limit_bytes = limit_bytes };
	bool is_new = access(directory, F_OK) < 0;
	int r = file_mkdirs(directory, DIRECTORY_MODE, reterr);

	if (r < 0)
		return r;
	if (is_new && chmod(directory, DIRECTORY_MODE) < 0) /* whatever the umask */
		return fault_errno(reterr, -errno, "%s", directory);
	spool.directory = strdup(directory);
	if (!spool.directory)
		return fault_errno(reterr, -ENOMEM, "spool");
	r = lock(&spool, reterr);
	if (r < 0) {
		spool_close(&spool);
		return r;
	}
	remove_unfinished(&spool);
	spool.named_ns = newest_find(&spool);
	spool.used_bytes = limit_bytes; /* unknown: count at the first file */
	*ret = spool;
	return 0;
}

void spool_close(struct spool *spool)
{
	if (spool->lock >= 0)
		close(spool->lock);
	free(spool->directory);
	*spool = (struct spool){ .lock = -1 };
}

static int write_file(const char *path, const struct buffer *bytes)
{
	_clean_(fd_closep) int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
	size_t done = 0;

	if (fd < 0)
		return -errno;
	while (done < bytes->size) {
		ssize_t n = write(fd, bytes->data + done, bytes->size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* The oldest file by name (names begin with the time), and the bytes of all. */
static uint64_t survey(const struct spool *spool, char *retoldest, size_t size)
{
	DIR *dir = opendir(spool->directory);
	struct dirent *entry;
	uint64_t sum = 0;

	retoldest[0] = '\0';
	while (dir && (entry = readdir(dir))) {
		struct stat st;

		if (!is_ours(entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		sum += (uint64_t)st.st_blocks * 512;
		if (!retoldest[0] || strcmp(entry->d_name, retoldest) < 0)
			snprintf(retoldest, size, "%s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return sum;
}

/* Counting all files is done only when our own books say that the limit is reached. */
static void make_room(struct spool *spool, uint64_t bytes)
{
	char oldest[NAME_MAX + 1], path[PATH_MAX];

	spool->used_bytes += bytes + FILE_OVERHEAD_BYTES;
	while (spool->used_bytes > spool->limit_bytes) {
		spool->used_bytes = survey(spool, oldest, sizeof(oldest)) + bytes;
		if (spool->used_bytes <= spool->limit_bytes || !oldest[0])
			return;
		if (snprintf(path, sizeof(path), "%s/%s", spool->directory, oldest) >= (int)sizeof(path) ||
		    unlink(path) < 0)
			return;
		spool->n_dropped++;
	}
}

static int put(struct spool *spool, const char *suffix, const struct buffer *bytes, struct fault *reterr)
{
	char temporary[PATH_MAX], path[PATH_MAX];
	int r;

	spool->named_ns = MAX(clock_ns(CLOCK_REALTIME), spool->named_ns + 1);
	snprintf(temporary, sizeof(temporary), "%s/" TEMPORARY "%d", spool->directory, getpid());
	if (snprintf(path, sizeof(path), "%s/%012" PRIu64 "-%09" PRIu64 "-%06u%s", spool->directory,
		     spool->named_ns / 1000000000, spool->named_ns % 1000000000, spool->n_written++,
		     suffix) >= (int)sizeof(path))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", spool->directory);
	make_room(spool, bytes->size);
	r = write_file(temporary, bytes);
	if (r == -ENOENT && file_mkdirs(spool->directory, DIRECTORY_MODE, reterr) == 0)
		r = write_file(temporary, bytes);
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0) {
		unlink(temporary);
		return fault_errno(reterr, r, "%s: cannot write", path);
	}
	return 0;
}

int spool_write_log(struct spool *spool, const struct sample_log *log, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	int r = sample_log_encode(log, &bytes);

	return r < 0 ? fault_errno(reterr, r, "sample log") : put(spool, SPOOL_SUFFIX, &bytes, reterr);
}

int spool_write_events(struct spool *spool, const struct lifecycle *events, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	int r = lifecycle_encode(events, &bytes);

	return r < 0 ? fault_errno(reterr, r, "events") : put(spool, LIFECYCLE_SUFFIX, &bytes, reterr);
}
