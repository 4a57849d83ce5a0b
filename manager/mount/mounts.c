/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/mount/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/keep/journal.h"
#include "manager/keep/path.h"
#include "manager/keep/seal.h"
#include "manager/keep/store.h"
#include "manager/mount/mount_record.h"
#include "manager/mount/mount_request.h"
#include "manager/place/integrity.h"
#include "manager/place/package_lock.h"

#define SUSPENDED_AT_MOST_S 60 /* unless a package manager is at work */

static const char *mounts_directory(const struct manager *m, char ret[PATH_MAX])
{
	char path[PATH_MAX];

	path_join(m->settings.state_directory, "mounts", path);
	return settings_path(&m->settings, path, ret) ? ret : "";
}

static const char *suspended_file(const struct manager *m, char ret[PATH_MAX])
{
	char path[PATH_MAX];

	path_join(m->settings.runtime_directory, "mounts.suspended", path);
	return settings_path(&m->settings, path, ret) ? ret : "";
}

static int ask(const struct manager *m, const char *path, struct fault *reterr)
{
	char socket[PATH_MAX];

	if (!settings_path(&m->settings, m->settings.mount_socket, socket))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", m->settings.root);
	return mount_request_send(socket, path, reterr);
}

int64_t mounts_has(const struct manager *m, const char *path)
{
	struct mount_record record = { 0 };
	char directory[PATH_MAX];
	int64_t number = 0;

	if (mount_record_read(mounts_directory(m, directory), path, &record, NULL) == 0)
		number = (int64_t)record.number;
	mount_record_done(&record);
	return number;
}

bool mounts_are_suspended(const struct manager *m)
{
	char path[PATH_MAX];

	return access(suspended_file(m, path), F_OK) == 0;
}

static int privileges_check(const struct manager *m, const struct replacement *file, struct fault *reterr)
{
	if (m->settings.privileged_files)
		return 0;
	if ((file->st.st_mode & (S_ISUID | S_ISGID)) ||
	    fgetxattr(file->fd, "security.capability", NULL, 0) >= 0)
		return fault_set(reterr, -EPERM,
				 "%s: runs with more rights than its caller (set-ID bit or file "
				 "capabilities); allow such files with privileged_files = yes",
				 file->path);
	return 0;
}

int mounts_check(const struct manager *m, const struct replacement *file, struct fault *reterr)
{
	int r = privileges_check(m, file, reterr);

	if (r == 0 && m->settings.root[0])
		r = fault_set(reterr, -EPERM,
			      "%s: generations are mounted in the running system only, not below %s; "
			      "set activation = replace",
			      file->path, m->settings.root);
	if (r == 0 && !mount_record_path_is_plain(file->path))
		r = fault_set(reterr, -EPERM,
			      "%s: a path with blanks or control characters cannot be mounted over; set "
			      "activation = replace",
			      file->path);
	return r < 0 ? r : integrity_obstacle(m->settings.root, file->path, INTEGRITY_MOUNT, reterr);
}

/* 1: the file that will be mounted. Signatures over the packaged file's content would be wrong ones. */
static int file_put(const struct manager *m, const struct replacement *packaged, const char *of,
		    const struct generation_row *to, int from_fd, struct fault *reterr)
{
	static const char *const signatures[] = { "security.ima", "security.evm" };
	struct replacement file = *packaged; /* its bytes and attributes; another directory */
	char directory[PATH_MAX], path[PATH_MAX], temp[PATH_MAX];
	_clean_(fd_closep) int dir_fd = -1, fd = -1;
	int r = manager_mkdir(mounts_directory(m, directory), 0700, reterr);

	if (r == 0 && (dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		r = fault_errno(reterr, -errno, "%s", directory);
	if (r < 0)
		return r;
	file.dir_fd = dir_fd;
	replacement_temp(of, file.temp);
	r = replacement_prepare(&file, from_fd, to->digest, stat_mtime_ns(&file.st), reterr);
	if (r < 0)
		return r;
	path_join(directory, file.temp, temp);
	fd = open(temp, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	for (size_t i = 0; fd >= 0 && i < ARRAY_SIZE(signatures); i++)
		fremovexattr(fd, signatures[i]);
	r = fd < 0 || fsync(fd) < 0 ? fault_errno(reterr, -errno, "%s", temp) : seal_file(temp, reterr);
	mount_record_file(directory, of, "", path);
	if (r >= 0 && (rename(temp, path) < 0 || fsync(dir_fd) < 0))
		r = fault_errno(reterr, -errno, "%s", path);
	if (r < 0)
		unlink(temp);
	return r < 0 ? r : 0;
}

int mounts_put(struct manager *m, const struct replacement *file, const char *path,
	       const struct module_row *module, const struct generation_row *to, const char *shipped,
	       int from_fd, struct fault *reterr)
{
	struct mount_record record = { .path = (char *)path,
				       .build_id = module->key,
				       .digest = to->digest,
				       .shipped = (char *)shipped,
				       .number = (uint64_t)to->number };
	char directory[PATH_MAX];
	int r;

	if (mounts_are_suspended(m))
		return fault_set(reterr, -EAGAIN,
				 "%s: packages are being installed; try again when that is done", path);
	r = file_put(m, file, path, to, from_fd, reterr);
	if (r == 0)
		r = mount_record_write(mounts_directory(m, directory), &record, reterr);
	if (r == 0)
		r = ask(m, record.path, reterr);
	if (r == 0)
		r = fault_set(reterr, -EAGAIN,
			      "%s: packages are being installed; try again when that is done", record.path);
	if (r == 1)
		return 0;
	mounts_drop(m, record.path, NULL);
	return r;
}

int mounts_drop(struct manager *m, const char *path, struct fault *reterr)
{
	char directory[PATH_MAX];
	int r = mount_record_drop(mounts_directory(m, directory), path, reterr);

	if (r == 0 && access(directory, F_OK) == 0)
		r = ask(m, path, reterr);
	if (r == 0)
		mount_record_forget(directory, path);
	return r < 0 ? r : 0;
}

/* ---- once in a while ---- */

/* A hook that never ran a second time: the installation was killed, or the machine was. */
static bool suspension_is_over(const struct manager *m)
{
	char path[PATH_MAX];
	struct stat st;
	time_t age;

	if (stat(suspended_file(m, path), &st) < 0)
		return true;
	age = time(NULL) - st.st_mtime;
	if ((age >= 0 && age < SUSPENDED_AT_MOST_S) || package_lock_holder(m->settings.root))
		return false;
	log_warning("%s: the package manager that left this is gone; mounting generations again", path);
	return unlink(path) == 0;
}

struct tick {
	struct manager *manager;
	unsigned n_records, n_missing;
};

/* Does the record speak of the module that is installed there, and does what it says stand there? */
static int record_visit(void *userdata, const struct mount_record *record)
{
	struct tick *tick = userdata;
	struct manager *m = tick->manager;
	struct target_row target = { 0 };
	struct module_row module = { 0 };
	struct fault fault = { "" };
	char directory[PATH_MAX], own[PATH_MAX];
	struct stat a, b;
	bool ours = target_get(m->state, record->path, &target, NULL) == 0 &&
		    module_get(m->state, target.module, &module, NULL) == 0 &&
		    strcmp(module.key, record->build_id) == 0;

	target_row_done(&target);
	module_row_done(&module);
	tick->n_records++;
	if (!ours) {
		log_info("%s: the program there is another one now; generation %llu is not mounted any more",
			 record->path, (unsigned long long)record->number);
		if (mounts_drop(m, record->path, &fault) < 0)
			log_warning("%s", fault.text);
		return 0;
	}
	mount_record_file(mounts_directory(m, directory), record->path, "", own);
	if (stat(record->path, &a) < 0 || stat(own, &b) < 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		tick->n_missing++;
	return 0;
}

static void record_damaged(_unused_ void *userdata, const struct fault *why)
{
	log_warning("%s; left out", why->text);
}

int mounts_tick(struct manager *m, struct fault *reterr)
{
	struct tick tick = { .manager = m };
	struct fault fault = { "" };
	char directory[PATH_MAX];
	int r;

	if (m->settings.root[0] || access(mounts_directory(m, directory), F_OK) < 0 || !suspension_is_over(m))
		return 0;
	r = mount_record_walk(directory, record_visit, record_damaged, &tick, reterr);
	if (r < 0 || (!tick.n_missing && m->mounts_are_synced))
		return r;
	m->mounts_are_synced =
		true; /* also when it fails: it is said once, and what is missing is tried again */
	r = ask(m, NULL, &fault);
	if (r < 0)
		log_warning("%s", fault.text);
	return 0;
}
