/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * file.h - whole files: mapped for reading, or appearing at once when written
 *
 * An output is written to a temporary name in the target's directory, fsynced, renamed over the
 * target, and the directory is fsynced: at every moment, also after a crash, the target is the old
 * file or the whole new one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/fault.h"

/*
 * A mapping is only as good as whoever may write to the file: when it is cut short, reading beyond the new
 * end is SIGBUS, and bytes that were checked may become others. So only files of root or of our own that
 * nobody else may write to are mapped, on file systems that this machine alone answers for; all others are
 * read into memory, up to FILE_READ_MAX_BYTES.
 */
#define FILE_READ_MAX_BYTES (2ull << 30)

struct file_map {
	const uint8_t *data; /* read-only: a private mapping or a copy; NULL for an empty file */
	size_t size;
	bool is_copy;
	struct stat st;
};

/**
 * file_map_open() - the bytes of the regular file @path
 * Return: 0; -errno with @reterr filled: -EFBIG for a copy that would be too large, -ESTALE when the file
 * became shorter while it was read.
 */
int file_map_open(const char *path, struct file_map *ret, struct fault *reterr);
/** file_map_fd() - the same for an open descriptor, which stays the caller's; @name is for messages */
int file_map_fd(int fd, const char *name, struct file_map *ret, struct fault *reterr);
void file_map_done(struct file_map *map);
static inline void file_map_donep(struct file_map *map)
{
	file_map_done(map);
}

/**
 * file_write() - replace @path by @size bytes, wholly or not at all
 * @mode: permission bits of the new file (not subject to umask)
 * A device, what /dev/stdout and the like lead to, and a pipe or socket of ours or of root's are written to, and stay what they are.
 * Links are replaced, never followed: somebody else may have put them there.
 * Return: 0 or -errno with @reterr filled; after an error @path is untouched and nothing is left behind.
 */
int file_write(const char *path, const void *bytes, size_t size, mode_t mode, struct fault *reterr);

/** file_is_same() - are both paths of one regular file? */
bool file_is_same(const char *a, const char *b);

/**
 * file_write_check() - would file_write() find a place for @path? To be asked before work that takes long
 * Return: 0 or -errno with @reterr filled; nothing is left behind.
 */
int file_write_check(const char *path, struct fault *reterr);

/**
 * file_write_scratch() - file_write() for scratch: @path, of mode 0600, may be seen half-written, and be lost by a power cut
 * Return: 0 or -errno with @reterr filled
 */
int file_write_scratch(const char *path, const void *bytes, size_t size, struct fault *reterr);

/**
 * file_write_like() - file_write() of the name @name in the directory @dir_fd, with owner, group and mode as in @like
 *
 * For a directory that others may write to: no path is walked, and the file never runs with rights of an owner that is not
 * the one of @like. Who may not give files away keeps it, without set-ID bits. @shown is the path for messages.
 */
int file_write_like(int dir_fd, const char *name, const void *bytes, size_t size, const struct stat *like,
		    const char *shown, struct fault *reterr);

/** file_copy() - file_write() of the contents of @from; mode is that of @from */
int file_copy(const char *from, const char *to, struct fault *reterr);

/**
 * file_mkdirs() - create @path and its parents with @mode; existing directories are fine
 * Each directory that is made has its name synced, so that a power cut does not take it with what is put into it later.
 */
int file_mkdirs(const char *path, mode_t mode, struct fault *reterr);

/**
 * file_own_directory() - a directory that nobody else may write to: made with mode 0700, with its parents, unless it is there
 * Return: 0; -EPERM with @reterr: it is another user's, others may write to it, or it is a link; other -errno with @reterr
 */
int file_own_directory(const char *path, struct fault *reterr);

/**
 * file_sync_directory() - the names in directory @path, as they are now, survive a power cut
 * Return: 0, also where a file system cannot sync directories and where who may only enter it may not either; or -errno.
 */
int file_sync_directory(const char *path, struct fault *reterr);

/** file_remove_tree() - delete a directory with all that is in it; a missing one is fine */
int file_remove_tree(const char *path, struct fault *reterr);

/** Times of a file, in ns since 1970: of its contents, and of anything about it */
static inline int64_t stat_mtime_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static inline int64_t stat_changed_ns(const struct stat *st)
{
	return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}
