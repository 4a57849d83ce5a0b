/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/mount/mount_record.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/config_file.h"
#include "base/file.h"
#include "manager/keep/digest.h"
#include "manager/keep/path.h"

#define KEY(key, kind, field) { key, kind, offsetof(struct mount_record, field), 0, 0 }

static const struct config_key record_keys[] = {
	KEY("path", CONFIG_PATH, path),	      KEY("build_id", CONFIG_TEXT, build_id),
	KEY("number", CONFIG_UINT, number),   KEY("digest", CONFIG_TEXT, digest),
	KEY("shipped", CONFIG_TEXT, shipped), { NULL },
};

bool mount_record_path_is_plain(const char *path)
{
	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return false;
	for (const unsigned char *p = (const unsigned char *)path; *p; p++)
		if (*p <= ' ' || *p == 0x7f || *p == '\\')
			return false;
	for (const char *p = path; p; p = strchr(p + 1, '/')) {
		size_t n = strcspn(p + 1, "/");

		if (n == 0 || (n == 1 && p[1] == '.') || (n == 2 && p[1] == '.' && p[2] == '.'))
			return false;
	}
	return true;
}

const char *mount_record_file(const char *directory, const char *path, const char *suffix, char ret[PATH_MAX])
{
	char digest[DIGEST_TEXT];

	digest_bytes(path, strlen(path), digest);
	if (!digest[0] || snprintf(ret, PATH_MAX, "%s/%s%s", directory, digest, suffix) >= PATH_MAX)
		ret[0] = '\0';
	return ret;
}

static bool is_hexadecimal(const char *text, size_t least, size_t most)
{
	size_t n = text ? strspn(text, "0123456789abcdef") : 0;

	return text && !text[n] && n >= least && n <= most;
}

static int record_check(const char *file, const struct mount_record *r, struct fault *reterr)
{
	if (!r->path || !mount_record_path_is_plain(r->path) || !is_hexadecimal(r->build_id, 3, 128) ||
	    !is_hexadecimal(r->digest, DIGEST_TEXT - 1, DIGEST_TEXT - 1) ||
	    !is_hexadecimal(r->shipped, DIGEST_TEXT - 1, DIGEST_TEXT - 1) || r->number < 1 ||
	    r->number > INT32_MAX)
		return fault_set(reterr, -EBADMSG, "%s: not the record of a mount", file);
	return 0;
}

/* Others must not have been able to write it: it says what is mounted. */
static int file_check(const char *file, struct fault *reterr)
{
	struct stat st;

	if (lstat(file, &st) < 0)
		return errno == ENOENT ? fault_set(reterr, -ENOENT, "%s: no such record", file) :
					 fault_errno(reterr, -errno, "%s", file);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		return fault_set(reterr, -EBADMSG, "%s: not a file of our own that nobody else may write",
				 file);
	return 0;
}

static int read_file(const char *file, struct mount_record *ret, struct fault *reterr)
{
	struct mount_record record = { 0 };
	int r = file_check(file, reterr);

	if (r == 0)
		r = config_file_read(file, record_keys, &record, reterr);
	if (r == 0)
		r = record_check(file, &record, reterr);
	if (r < 0) {
		mount_record_done(&record);
		return r == -EINVAL ? -EBADMSG : r;
	}
	*ret = record;
	return 0;
}

int mount_record_read(const char *directory, const char *path, struct mount_record *ret, struct fault *reterr)
{
	char file[PATH_MAX];
	int r = read_file(mount_record_file(directory, path, MOUNT_RECORD_SUFFIX, file), ret, reterr);

	if (r == 0 && strcmp(ret->path, path) != 0) {
		mount_record_done(ret);
		r = fault_set(reterr, -EBADMSG, "%s: the record of another program", file);
	}
	return r;
}

void mount_record_done(struct mount_record *record)
{
	config_done(record_keys, record);
	*record = (struct mount_record){ 0 };
}

int mount_record_write(const char *directory, const struct mount_record *record, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer text = { 0 };
	char file[PATH_MAX];
	int r;

	mount_record_file(directory, record->path, MOUNT_RECORD_SUFFIX, file);
	r = record_check(file, record, reterr);
	if (r < 0)
		return r;
	config_print(record_keys, record, &text);
	if (text.bad)
		return fault_errno(reterr, -ENOMEM, "%s", file);
	return file_write(file, text.data, text.size, 0600, reterr);
}

int mount_record_drop(const char *directory, const char *path, struct fault *reterr)
{
	char file[PATH_MAX];

	if (unlink(mount_record_file(directory, path, MOUNT_RECORD_SUFFIX, file)) < 0)
		return errno == ENOENT ? 0 : fault_errno(reterr, -errno, "%s", file);
	/* After a power cut it would be mounted again, whyever it was taken away. */
	return file_sync_directory(directory, reterr);
}

void mount_record_forget(const char *directory, const char *path)
{
	char file[PATH_MAX];

	unlink(mount_record_file(directory, path, "", file));
}

static bool is_record(const char *name)
{
	const size_t n = DIGEST_TEXT - 1;

	return strspn(name, "0123456789abcdef") == n && strcmp(name + n, MOUNT_RECORD_SUFFIX) == 0;
}

int mount_record_walk(const char *directory, int (*visit)(void *userdata, const struct mount_record *record),
		      void (*damaged)(void *userdata, const struct fault *why), void *userdata,
		      struct fault *reterr)
{
	struct dirent *entry;
	DIR *dir = opendir(directory);
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : fault_errno(reterr, -errno, "%s", directory);
	while (r >= 0 && (entry = readdir(dir))) {
		_clean_(mount_record_done) struct mount_record record = { 0 };
		struct fault fault = { "" };
		char file[PATH_MAX], own[PATH_MAX];
		int code;

		if (!is_record(entry->d_name))
			continue;
		code = read_file(path_join(directory, entry->d_name, file), &record, &fault);
		if (code == 0 &&
		    strcmp(mount_record_file(directory, record.path, MOUNT_RECORD_SUFFIX, own), file) != 0)
			code = fault_set(&fault, -EBADMSG, "%s: the record of another program", file);
		if (code == 0)
			r = visit(userdata, &record);
		else if (damaged)
			damaged(userdata, &fault);
	}
	closedir(dir);
	return r < 0 ? r : 0;
}
