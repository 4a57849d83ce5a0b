/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/activation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/act/wish.h"
#include "manager/keep/digest.h"
#include "manager/keep/journal.h"
#include "manager/keep/seal.h"
#include "manager/keep/store.h"
#include "manager/keep/verified.h"
#include "manager/mount/mounts.h"
#include "manager/place/integrity.h"
#include "manager/place/place.h"
#include "manager/program/installed.h"
#include "manager/shadow/shadow.h"

/* How a generation comes to where its program is found. */
enum way { WAY_REPLACE, WAY_MOUNT, WAY_SHADOW };

static enum way way_of(const struct settings *settings)
{
	return settings_mounts(settings) ? WAY_MOUNT : settings_shadows(settings) ? WAY_SHADOW : WAY_REPLACE;
}

/* By which way has this one come that is there now, if it is one? */
static enum way way_now(const struct manager *m, const struct installed *in)
{
	if (mounts_has(m, in->target.path) > 0)
		return WAY_MOUNT;
	return shadow_has(m, in->target.path, in->target.generation) ? WAY_SHADOW : WAY_REPLACE;
}

/* Step 2: nothing is replaced before the shipped bytes are safe. */
static int keep_original(struct manager *m, struct installed *in, struct fault *reterr)
{
	struct store_target target = { .path = in->target.path,
				       .uid = (uint64_t)in->target.uid,
				       .gid = (uint64_t)in->target.gid,
				       .mode = (uint64_t)in->target.mode,
				       .mtime_ns = (uint64_t)in->target.mtime_ns,
				       .names = in->generation.number ?
							store_target_names(m->store, in->module.key,
									   in->target.path) :
							(uint64_t)in->examination.file.st.st_nlink };
	struct generation_row shipped = { 0 };
	char path[PATH_MAX];
	int r = generation_get(m->state, in->module.id, 0, &shipped, reterr);

	if (r == 0 && !shipped.digest[0])
		r = fault_set(reterr, -ENODATA, "%s: the store has no copy of the shipped file",
			      in->target.path);
	if (r == 0)
		r = store_check_file(store_path(m->store, in->module.key, "original", path), shipped.digest,
				     reterr);
	if (r == 0)
		r = store_put_target(m->store, in->module.key, &target, reterr);
	generation_row_done(&shipped);
	return r;
}

static int source_open(struct manager *m, const struct installed *in, const struct generation_row *to,
		       struct fault *reterr)
{
	char path[PATH_MAX];
	int fd;

	if (to->number == 0)
		store_path(m->store, in->module.key, "original", path);
	else
		store_generation_path(m->store, in->module.key, to->number, "binary", path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (seal_check(fd, path, reterr) < 0) {
		close(fd);
		return -EBADMSG;
	}
	return fd;
}

/* Step 3. */
static int swap_begin(struct manager *m, const struct installed *in, int64_t number, const char *reason,
		      struct fault *reterr)
{
	return state_do(m->state, reterr,
			"INSERT OR REPLACE INTO swap(path, module, from_number, to_number, temp, reason, "
			"time_ns) VALUES(?, ?, ?, ?, ?, ?, ?)",
			"tiiitti", in->target.path, in->module.id, in->generation.number, number,
			in->examination.file.temp, reason, journal_now_ns());
}

static int swap_end(struct manager *m, const char *path, struct fault *reterr)
{
	return state_do(m->state, reterr, "DELETE FROM swap WHERE path = ?", "t", path);
}

/* What stands there now is looked at once more: only then its samples count for the generation. */
static int verify(struct manager *m, int64_t module, int64_t number, const char *full, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct generation_row generation = { 0 };
	char digest[DIGEST_TEXT];
	int r = generation_get(m->state, module, number, &generation, reterr);

	/* Whoever was faster has put another file there; installed_refresh() will see it. */
	if (r == 0 && fd >= 0 && digest_fd(fd, full, digest, NULL) == 0 &&
	    strcmp(digest, generation.digest) == 0)
		r = verified_put(m->state, generation.id, fd, reterr);
	generation_row_done(&generation);
	return r;
}

/* Step 5, the rows: @path now has generation @number of @module. */
static int target_moved(struct manager *m, const char *path, int64_t number, const char *event,
			const char *reason, struct fault *reterr)
{
	struct target_row target = { 0 };
	char full[PATH_MAX];
	struct stat st;
	int r = target_get(m->state, path, &target, reterr);

	if (r == 0 && settings_path(&m->settings, path, full) && stat(full, &st) == 0) {
		target_take_stat(&target, &st);
		r = verify(m, target.module, number, full, reterr);
	}
	if (r == 0) {
		target.generation = number;
		target.activated_ns = number ? journal_now_ns() : 0;
		target.watch_left_s = number ? (int64_t)m->settings.watch_s : 0;
		target.watch_crashes = 0;
		r = target_put(m->state, &target, reterr);
	}
	if (r == 0)
		r = journal_event(m->state, target.module, path, event, reterr, "generation %lld: %s",
				  (long long)number, reason);
	target_row_done(&target);
	return r < 0 ? r : swap_end(m, path, reterr);
}

static int in_transaction(struct manager *m, const char *path, int64_t number, const char *event,
			  const char *reason, struct fault *reterr)
{
	int r = state_begin(m->state, reterr), committed = 0;

	if (r < 0)
		return r;
	r = event ? target_moved(m, path, number, event, reason, reterr) : swap_end(m, path, reterr);
	if (r == 0)
		committed = state_commit(m->state, reterr);
	state_undo(m->state);
	return r < 0 ? r : committed;
}

/* Give the file itself other bytes. */
static int switch_file(struct manager *m, struct installed *in, const struct generation_row *to,
		       struct fault *reterr)
{
	struct replacement *file = &in->examination.file;
	_clean_(fd_closep) int fd = source_open(m, in, to, reterr);
	int r = fd;

	if (fd >= 0 && to->number)
		r = replacement_prepare(file, fd, to->digest, stat_mtime_ns(&file->st), reterr);
	else if (fd >= 0)
		r = replacement_prepare_shipped(file, fd, to->digest, in->target.mtime_ns,
						store_target_names(m->store, in->module.key, in->target.path),
						reterr);
	return r < 0 ? r : replacement_commit(file, reterr);
}

static int shipped_digest(struct manager *m, const struct installed *in, char ret[DIGEST_TEXT],
			  struct fault *reterr)
{
	struct generation_row shipped = { 0 };
	int r = generation_get(m->state, in->module.id, 0, &shipped, reterr);

	if (r == 0)
		snprintf(ret, DIGEST_TEXT, "%s", shipped.digest);
	generation_row_done(&shipped);
	return r;
}

/* Leave the file alone and lay the generation over it. */
static int switch_mount(struct manager *m, struct installed *in, const struct generation_row *to,
			struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;
	char digest[DIGEST_TEXT];
	int r;

	if (to->number == 0)
		return mounts_drop(m, in->target.path, reterr);
	fd = source_open(m, in, to, reterr);
	r = fd < 0 ? fd : shipped_digest(m, in, digest, reterr);
	return r < 0 ? r :
		       mounts_put(m, &in->examination.file, in->target.path, &in->module, to, digest, fd,
				  reterr);
}

/* Leave the file alone and put the generation beside it; names lead to it when the database has it (activation_switch()). */
static int switch_shadow(struct manager *m, struct installed *in, const struct generation_row *to,
			 struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;

	if (to->number == 0)
		return shadow_drop(m, in->target.path, reterr);
	fd = source_open(m, in, to, reterr);
	return fd < 0 ? fd : shadow_put(m, &in->examination.file, in->target.path, to, fd, reterr);
}

/* Steps 3 to 5. */
static int switch_announced(struct manager *m, struct installed *in, const struct generation_row *to,
			    enum way way, const char *event, const char *reason, struct fault *reterr)
{
	int r = swap_begin(m, in, to->number, reason, reterr);

	if (r < 0)
		return r;
	switch (way) {
	case WAY_MOUNT: r = switch_mount(m, in, to, reterr); break;
	case WAY_SHADOW: r = switch_shadow(m, in, to, reterr); break;
	case WAY_REPLACE: r = switch_file(m, in, to, reterr); break;
	}
	if (r < 0) {
		in_transaction(m, in->target.path, 0, NULL, NULL, NULL);
		return r;
	}
	return in_transaction(m, in->target.path, to->number, event, reason, reterr);
}

/* By which way? What was mounted is taken away by the way it came; what is in the file's place likewise. */
static int may_switch(struct manager *m, const struct replacement *file, int64_t number, enum way way,
		      struct fault *reterr)
{
	int r;

	if (way == WAY_MOUNT)
		return number ? mounts_check(m, file, reterr) : 0;
	if (way == WAY_SHADOW)
		return number ? shadow_check(m, file, reterr) : 0;
	r = replacement_check(file, m->settings.privileged_files, number == 0, reterr);
	if (r == 0 && number)
		r = integrity_obstacle(m->settings.root, file->path, INTEGRITY_REPLACE, reterr);
	if (r < 0 && number && !m->settings.is_user && mounts_check(m, file, NULL) == 0 &&
	    strlen(reterr->text) < sizeof(reterr->text) / 2)
		snprintf(reterr->text + strlen(reterr->text), sizeof(reterr->text) / 2,
			 "; activation = mount (morphd.conf) leaves the file as it is and could do it");
	return r;
}

/* One switch, of a file that is as @in says. 1: nothing to do. */
static int switch_once(struct manager *m, struct installed *in, int64_t number, enum way way,
		       const char *event, const char *reason, struct fault *reterr)
{
	struct generation_row to = { 0 };
	const char *path = in->target.path;
	int r = generation_get(m->state, in->module.id, number, &to, reterr);

	if (r == -ENOENT)
		fault_set(reterr, r, "%s: has no generation %lld; `morph history %s` lists them", path,
			  (long long)number, path);
	else if (r == 0 && in->generation.number == number)
		r = 1;
	if (r == 0)
		r = may_switch(m, &in->examination.file, number, way, reterr);
	if (r == 0)
		r = keep_original(m, in, reterr);
	if (r == 0)
		r = switch_announced(m, in, &to, way, event, reason, reterr);
	generation_row_done(&to);
	return r;
}

/*
 * The generation that stands there came the other way than @number would go: the shipped file comes back first, and
 * *@in is what stands there then.
 */
static int way_clear(struct manager *m, struct installed *in, enum way way, struct fault *reterr)
{
	_clean_(freep) char *path = strdup(in->target.path);
	int r = path ? switch_once(m, in, 0, way, EVENT_ROLLED_BACK,
				   "generations are put there another way now", reterr) :
		       fault_errno(reterr, -ENOMEM, "%s", in->target.path);

	if (r < 0)
		return r;
	installed_done(in);
	r = installed_open(m, path, in, reterr);
	if (r < 0)
		*in = (struct installed){ .examination.file = { .dir_fd = -1, .fd = -1 } };
	return r;
}

/* What was ordered and does not stand there; @number is what is wanted instead. */
static int record_only_drop(struct manager *m, const struct installed *in, int64_t number, const char *event,
			    const char *reason, struct fault *reterr)
{
	int r = mounts_drop(m, in->target.path, reterr);

	if (r == 0 && number == 0 && in->target.generation > 0)
		r = in_transaction(m, in->target.path, 0, event, reason, reterr);
	return r;
}

int activation_switch(struct manager *m, const char *path, int64_t number, const char *event,
		      const char *reason, struct fault *reterr)
{
	struct fault fault = { "" };
	struct installed in;
	enum way now, way;
	int r = installed_open(m, path, &in, reterr);

	if (r < 0)
		return r;
	now = way_now(m, &in);
	way = number ? way_of(&m->settings) : now;
	if (number && (way == WAY_MOUNT || now == WAY_MOUNT) && mounts_are_suspended(m))
		r = fault_set(reterr, -EAGAIN,
			      "%s: packages are being installed; try again when that is done", path);
	else if (now == WAY_MOUNT &&
		 in.generation.number ==
			 0) /* the record stands alone: suspended, or morph-mount was not there */
		r = record_only_drop(m, &in, number, event, reason, reterr);
	else if (number && in.generation.number && in.generation.number != number && way != now)
		r = way_clear(m, &in, now, reterr);
	if (r == 0)
		r = switch_once(m, &in, number, way, event, reason, reterr);
	if (r == 0)
		wish_look_again(m);
	installed_done(&in);
	/* What is not in the directory now will be the next time. */
	if (r == 0 && way == WAY_SHADOW && shadow_refresh(m, &fault) < 0)
		log_warning("%s", fault.text);
	return r;
}

int activation_may(struct manager *m, const char *path, struct fault *reterr)
{
	struct replacement file;
	int r = replacement_open(m->settings.root, path, &file, reterr);

	if (r < 0)
		return r;
	/* A target of before, where morphd.conf names no prefix any more, is only put back. */
	r = place_check_listed(&m->settings, file.path, reterr);
	if (r == 0)
		r = place_check_writers(&m->settings, file.dir_fd, file.fd, file.path, reterr);
	if (r == 0)
		r = place_check_mount(&m->settings, file.fd, file.path, reterr);
	if (r == 0)
		r = may_switch(m, &file, 1, way_of(&m->settings), reterr);
	replacement_done(&file);
	return r;
}

struct swap_row {
	char *path, *temp, *reason;
	int64_t module, to;
};

static void swap_row_done(struct swap_row *row)
{
	free(row->path);
	free(row->temp);
	free(row->reason);
}

/* Delete the temporary file, if the crash left one, in the directory of @path. */
static void temp_delete(struct manager *m, const struct swap_row *row)
{
	char full[PATH_MAX], *slash;

	if (strncmp(row->temp, ".morph-swap-", 12) != 0 || strchr(row->temp, '/') ||
	    !settings_path(&m->settings, row->path, full))
		return;
	slash = strrchr(full, '/');
	if (slash && (size_t)(slash + 1 - full) + strlen(row->temp) < sizeof(full)) {
		strcpy(slash + 1, row->temp);
		if (unlink(full) < 0)
			return;
		/* Before the row goes that names it: after a power cut nobody would know of it. */
		*slash = '\0';
		file_sync_directory(full, NULL);
	}
}

static int repair_one(struct manager *m, const struct swap_row *row, struct fault *reterr)
{
	struct generation_row to = { 0 };
	char full[PATH_MAX];
	bool done;
	int r = generation_get(m->state, row->module, row->to, &to, reterr);

	done = r == 0 && settings_path(&m->settings, row->path, full) &&
	       store_check_file(full, to.digest, NULL) == 0;
	generation_row_done(&to);
	if (r < 0 && r != -ENOENT)
		return r;
	temp_delete(m, row);
	if (!done && mounts_has(m, row->path) == row->to)
		mounts_drop(m, row->path, NULL); /* ordered, never carried out */
	r = in_transaction(m, row->path, row->to, done ? EVENT_REPAIRED : NULL, row->reason, reterr);
	if (r == -ENOENT) /* the target is not ours any more */
		r = in_transaction(m, row->path, 0, NULL, NULL, reterr);
	if (r == 0 && !done)
		r = journal_event(m->state, row->module, row->path, EVENT_REPAIRED, reterr,
				  "morphd was interrupted before it replaced the file; nothing changed");
	return r;
}

int activation_repair(struct manager *m, unsigned *retn, struct fault *reterr)
{
	int r;

	for (*retn = 0;; ++*retn) {
		_clean_(swap_row_done) struct swap_row row = { 0 };
		sqlite3_stmt *statement = NULL;

		r = state_prepare(m->state, &statement, reterr,
				  "SELECT path, temp, reason, module, to_number FROM swap LIMIT 1", "");
		if (r == 0)
			r = state_step(m->state, statement, reterr);
		if (r == 1) {
			row = (struct swap_row){ statement_text(statement, 0), statement_text(statement, 1),
						 statement_text(statement, 2),
						 sqlite3_column_int64(statement, 3),
						 sqlite3_column_int64(statement, 4) };
		}
		sqlite3_finalize(statement);
		if (r <= 0)
			return r;
		if (!row.path || !row.temp || !row.reason)
			return fault_errno(reterr, -ENOMEM, "swap");
		r = repair_one(m, &row, reterr);
		if (r < 0)
			return r;
	}
}
