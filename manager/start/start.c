/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/start/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/macro.h"
#include "manager/keep/cpu.h"
#include "manager/keep/path.h"
#include "manager/keep/seal.h"
#include "manager/keep/store.h"
#include "manager/keep/store_version.h"
#include "manager/mount/mount_record.h"
#include "manager/place/place.h"
#include "manager/place/replace.h"

#define LACK_TEXT 64

/* A generation that this CPU cannot run. */
struct foreign {
	char *build_id; /* owned: of the shipped file */
	char *digest;	/* owned: of the generation */
	uint64_t number, size;
	char lack[LACK_TEXT];
};

struct start {
	const struct settings *settings;
	const char *here;
	char state[PATH_MAX], store[PATH_MAX], mounts[PATH_MAX];
	struct foreign *foreign;    /* owned */
	size_t n_foreign, n_before; /* of them, n_before are of modules before the one that is walked */
	char original_digest[DIGEST_TEXT];
	struct start_result *result;
};

static void start_done(struct start *s)
{
	for (size_t i = 0; i < s->n_foreign; i++) {
		free(s->foreign[i].build_id);
		free(s->foreign[i].digest);
	}
	free(s->foreign);
}

static const char *state_file(const struct settings *settings, const char *name, char ret[PATH_MAX])
{
	char path[PATH_MAX];

	path_join(settings->state_directory, name, path);
	return settings_path(settings, path, ret) ? ret : strcpy(ret, "");
}

/* ---- 1 and 5: the CPU for which all was found good ---- */

static bool is_noted(const char *file, const char *here)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	const size_t n = strlen(here);

	return file_map_open(file, &map, NULL) == 0 && map.size == n + 1 && memcmp(map.data, here, n) == 0 &&
	       map.data[n] == '\n';
}

int start_note(const struct settings *settings, const char *cpu, struct fault *reterr)
{
	char file[PATH_MAX], text[CPU_TEXT + 1];

	state_file(settings, "cpu", file);
	if (is_noted(file, cpu))
		return 0;
	snprintf(text, sizeof(text), "%s\n", cpu);
	return file_write(file, text, strlen(text), 0600, reterr);
}

/* ---- 2: what this CPU cannot run ---- */

static int on_module(void *userdata, const struct store_module *module)
{
	struct start *s = userdata;

	s->n_before = s->n_foreign;
	snprintf(s->original_digest, sizeof(s->original_digest), "%s", module->digest);
	return 0;
}

static int on_generation(void *userdata, const char *build_id, const struct store_generation *generation)
{
	struct start *s = userdata;
	struct foreign one = { .number = generation->number, .size = generation->size }, *more;

	if (cpu_can_run(generation->cpu, s->here, one.lack, sizeof(one.lack)))
		return 0;
	one.build_id = strdup(build_id);
	one.digest = strdup(generation->digest);
	more = reallocarray(s->foreign, s->n_foreign + 1, sizeof(*more));
	if (more)
		s->foreign = more;
	if (!more || !one.build_id || !one.digest) {
		free(one.build_id);
		free(one.digest);
		return -ENOMEM;
	}
	s->foreign[s->n_foreign++] = one;
	return 0;
}

static void on_damaged(void *userdata, const char *path, const struct fault *why)
{
	struct start *s = userdata;

	log_error("%s: which CPU it is for is not known: %s", path, why->text);
	s->result->n_failed++;
}

/* ---- 3: the shipped file comes back ---- */

static int put_back(struct start *s, struct replacement *file, const char *build_id,
		    const struct store_target *target, struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;
	char original[PATH_MAX];
	int r = place_check_writers(s->settings, file->dir_fd, file->fd, file->path, reterr);

	if (r == 0)
		r = place_check_mount(s->settings, file->fd, file->path, reterr);
	if (r == 0)
		r = replacement_check(file, s->settings->privileged_files, true, reterr);
	if (r < 0)
		return r;
	fd = open(store_path(s->store, build_id, "original", original), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", original);
	r = seal_check(fd, original, reterr);
	if (r == 0)
		r = replacement_prepare_shipped(file, fd, s->original_digest, (int64_t)target->mtime_ns,
						target->names, reterr);
	return r < 0 ? r : replacement_commit(file, reterr);
}

/* Which of this module's foreign generations is it? NULL: none */
static const struct foreign *foreign_find(const struct start *s, const struct replacement *file)
{
	char digest[DIGEST_TEXT] = "";

	for (size_t i = s->n_before; i < s->n_foreign; i++) {
		if (s->foreign[i].size != (uint64_t)file->st.st_size)
			continue;
		if (!digest[0] && digest_fd(file->fd, file->path, digest, NULL) < 0)
			return NULL;
		if (strcmp(digest, s->foreign[i].digest) == 0)
			return &s->foreign[i];
	}
	return NULL;
}

static int on_target(void *userdata, const char *build_id, const struct store_target *target)
{
	struct start *s = userdata;
	struct replacement file = { .dir_fd = -1, .fd = -1 };
	const struct foreign *one;
	struct fault fault = { "" };
	int r = 0;

	if (s->n_before == s->n_foreign || replacement_open(s->settings->root, target->path, &file, NULL) < 0)
		return 0; /* nothing of the kind, or no file there */
	one = foreign_find(s, &file);
	if (one)
		r = put_back(s, &file, build_id, target, &fault);
	if (one && r == 0) {
		log_warning("%s: as shipped again: generation %llu was made for a CPU that has %s, and this "
			    "one has not",
			    target->path, (unsigned long long)one->number, one->lack);
		s->result->n_back++;
	} else if (one) {
		log_error("%s: generation %llu needs a CPU that has %s, and the shipped file cannot be put "
			  "back: %s",
			  target->path, (unsigned long long)one->number, one->lack, fault.text);
		s->result->n_failed++;
	}
	replacement_done(&file);
	return 0;
}

/* ---- 4: what is to be mounted ---- */

static int on_record(void *userdata, const struct mount_record *record)
{
	struct start *s = userdata;
	struct fault fault = { "" };

	for (size_t i = 0; i < s->n_foreign; i++) {
		const struct foreign *one = &s->foreign[i];

		if (one->number != record->number || strcmp(one->build_id, record->build_id) != 0)
			continue;
		if (mount_record_drop(s->mounts, record->path, &fault) < 0) {
			log_error("%s: generation %llu needs a CPU that has %s: %s", record->path,
				  (unsigned long long)one->number, one->lack, fault.text);
			s->result->n_failed++;
			break;
		}
		mount_record_forget(s->mounts, record->path);
		log_warning("%s: generation %llu is not mounted: it was made for a CPU that has %s, and this "
			    "one has not",
			    record->path, (unsigned long long)one->number, one->lack);
		s->result->n_back++;
		break;
	}
	return 0;
}

static void on_damaged_record(void *userdata, const struct fault *why)
{
	struct start *s = userdata;

	log_error("%s", why->text);
	s->result->n_failed++;
}

/* ---- all ---- */

/* -EBUSY: a morphd works there; 1: nothing was ever kept */
static int lock_take(const struct start *s, int *ret, struct fault *reterr)
{
	char path[PATH_MAX];

	*ret = open(path_join(s->state, "morphd.lock", path), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (*ret < 0)
		return errno == ENOENT ? 1 : fault_errno(reterr, -errno, "%s", path);
	if (flock(*ret, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK ?
		       fault_set(reterr, -EBUSY, "%s: morphd works there, and sees to it", s->state) :
		       fault_errno(reterr, -errno, "%s: cannot lock", path);
}

int start_check(const struct settings *settings, struct start_result *ret, struct fault *reterr)
{
	_clean_(start_done) struct start s = { .settings = settings, .result = ret };
	struct store_visitor visitor = { on_module, on_generation, on_target, on_damaged, &s };
	_clean_(fd_closep) int lock = -1;
	char here[CPU_TEXT], noted[PATH_MAX];
	int r;

	*ret = (struct start_result){ 0 };
	s.here = here;
	state_file(settings, "", s.state);
	state_file(settings, "store", s.store);
	state_file(settings, "mounts", s.mounts);
	if (!s.state[0] || !s.store[0] || !s.mounts[0])
		return fault_errno(reterr, -ENAMETOOLONG, "%s", settings->state_directory);
	r = lock_take(&s, &lock, reterr);
	if (r != 0)
		return r < 0 ? r : 0;
	r = cpu_describe(settings, here, reterr);
	if (r < 0)
		return r;
	ret->is_same_cpu = is_noted(state_file(settings, "cpu", noted), here);
	if (ret->is_same_cpu)
		return 0;
	r = store_check_version(s.store, reterr);
	if (r == 0)
		r = store_walk(s.store, &visitor, reterr);
	if (r == 0)
		r = mount_record_walk(s.mounts, on_record, on_damaged_record, &s, reterr);
	return r < 0 || ret->n_failed ? r : start_note(settings, here, reterr);
}
