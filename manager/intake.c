/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/intake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/log.h"
#include "manager/digest.h"
#include "manager/examine.h"
#include "manager/installed.h"
#include "manager/journal.h"
#include "manager/tally.h"
#include "profiles/sample_log.h"

#define FULL_PAUSE_NS (60ull * 1000000000)
#define LOOK_AGAIN_NS (600ll * 1000000000) /* at a file that was not there, or another build */

struct spool_file {
	const char *name;
	int dir_fd; /* owned */
	struct buffer bytes;
	char digest[DIGEST_TEXT];
};

static void spool_file_done(struct spool_file *file)
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
		if (ret->bad || ret->size > INTAKE_MAX_BYTES)
			return ret->bad ? -ENOMEM : -EFBIG;
	}
	return 0;
}

/* -EBADMSG for whatever will not get better by waiting. */
static int spool_file_read(const char *spool, struct spool_file *file, struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;
	struct stat st;
	int r;

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
				 INTAKE_MAX_BYTES >> 20);
	if (r < 0)
		return fault_errno(reterr, r, "%s/%s", spool, file->name);
	digest_bytes(file->bytes.data, file->bytes.size, file->digest);
	return 0;
}

static int log_check(const struct sample_log *log, struct fault *reterr)
{
	if (log->source == SAMPLE_SOURCE_EXACT)
		return fault_set(reterr, -EBADMSG, "holds execution counts, not samples");
	for (size_t i = 0; i < log->n_modules; i++)
		if (log->modules[i].total > INTAKE_MAX_SAMPLES)
			return fault_set(reterr, -EBADMSG, "%llu samples of %s cannot be",
					 (unsigned long long)log->modules[i].total, log->modules[i].path);
	return sample_log_check(log, reterr) < 0 ? -EBADMSG : 0;
}

static int log_decode(const struct spool_file *file, struct sample_log **ret, struct fault *reterr)
{
	int r = sample_log_decode(file->bytes.data, file->bytes.size, ret, reterr);

	if (r == 0)
		r = log_check(*ret, reterr);
	if (r == 0 || r == -ENOMEM)
		return r;
	return fault_prefix(reterr, -EBADMSG, "%s", file->name);
}

/* Keep the newest few: a broken writer must not fill the disk. */
static void damaged_prune(int spool_fd)
{
	int fd = openat(spool_fd, INTAKE_DAMAGED, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
	if (n > INTAKE_DAMAGED_MAX)
		unlinkat(fd, oldest, 0);
	if (dir)
		closedir(dir);
}

static int set_aside(struct manager *m, const struct spool_file *file, const struct fault *why,
		     struct fault *reterr)
{
	char to[NAME_MAX + 16];
	int r;

	snprintf(to, sizeof(to), INTAKE_DAMAGED "/%s", file->name);
	if (mkdirat(file->dir_fd, INTAKE_DAMAGED, 0700) < 0 && errno != EEXIST)
		return fault_errno(reterr, -errno, "%s/%s", m->spool, INTAKE_DAMAGED);
	if (renameat(file->dir_fd, file->name, file->dir_fd, to) < 0)
		return fault_errno(reterr, -errno, "%s/%s: damaged, and it cannot be moved to %s",
				   m->spool, file->name, INTAKE_DAMAGED);
	damaged_prune(file->dir_fd);
	r = journal_event(m->state, 0, NULL, EVENT_DAMAGED, reterr, "%s; moved to %s/%s", why->text,
			  m->spool, to);
	if (r == 0)
		r = journal_total(m->state, "damaged_files", 1, reterr);
	return r;
}

static void module_key(const struct sample_module *module, char *ret, size_t size)
{
	char text[BUILD_ID_MAX_TEXT];

	if (module->kind == SAMPLE_MODULE_FILE && module->build_id.size)
		snprintf(ret, size, "%s", build_id_text(&module->build_id, text));
	else
		snprintf(ret, size, "%s:%s", sample_module_kind_name(module->kind), module->path);
}

/* Enter a module that is only counted, or that could not be looked at. */
static int module_note(struct manager *m, const struct sample_module *from, const char *key,
		       enum carries carries, const char *note, struct fault *reterr)
{
	struct module_row row = { 0 };
	int r = module_get_by_key(m->state, key, &row, reterr);

	if (r == -ENOENT)
		r = module_add(m->state, key, from->kind, from->path, &row.id, reterr);
	if (r == 0)
		r = module_set_carries(m->state, row.id, carries, note, NULL, reterr);
	if (r == 0)
		r = state_do(m->state, reterr, "UPDATE module SET verdict_ns = ? WHERE id = ?", "ii",
			     journal_now_ns(), row.id);
	module_row_done(&row);
	return r;
}

/* Step 2 for a build ID that no generation has. */
static int module_look(struct manager *m, const struct sample_module *from, const char *key,
		       struct fault *reterr)
{
	struct examination e;
	struct fault fault = { "" };
	struct installed in;
	int r = examine_file(&m->settings, from->path, key, &e, &fault);

	if (r < 0)
		return module_note(m, from, key, CARRIES_REFUSED, fault.text, reterr);
	examination_done(&e);
	if (e.carries != CARRIES_YES)
		return module_note(m, from, key, e.carries, e.note, reterr);
	r = installed_open(m, from->path, &in, &fault);
	if (r < 0)
		return module_note(m, from, key, CARRIES_REFUSED, fault.text, reterr);
	installed_done(&in);
	return journal_event(m->state, in.module.id, from->path, EVENT_SEEN, reterr,
			     "first samples of a program that carries Morph data");
}

/* A known build at a path where it was not known to be installed: a second copy, a reinstallation. */
static int path_note(struct manager *m, const char *path, struct fault *reterr)
{
	struct target_row target = { 0 };
	struct installed in;
	int r = target_get(m->state, path, &target, reterr);

	target_row_done(&target);
	if (r == -ENOENT) {
		r = installed_open(m, path, &in, reterr);
		if (r == 0)
			installed_done(&in);
		/* It may well be gone, or be in a container: its samples count all the same. */
		if (r == -ENODATA || r == -ENOENT || r == -ESTALE || r == -EACCES || r == -ELOOP ||
		    r == -ENOTDIR || r == -EINVAL)
			r = 0;
	}
	return r;
}

/* Step 2: what must be known about a module before its counts are entered. */
static int module_prepare(struct manager *m, const struct sample_module *from, struct fault *reterr)
{
	char key[PATH_MAX + 32];
	struct generation_row generation = { 0 };
	struct module_row module = { 0 };
	int r;

	module_key(from, key, sizeof(key));
	if (from->kind != SAMPLE_MODULE_FILE || !from->build_id.size || from->path[0] != '/') {
		r = module_get_by_key(m->state, key, &module, reterr);
		module_row_done(&module);
		return r != -ENOENT ? r
				    : module_note(m, from, key, CARRIES_NO,
						  from->kind == SAMPLE_MODULE_FILE ? "it has no build ID"
										   : "not a program",
						  reterr);
	}
	r = generation_get_by_build_id(m->state, key, &generation, reterr);
	generation_row_done(&generation);
	if (r != -ENOENT)
		return r < 0 ? r : path_note(m, from->path, reterr);
	r = module_get_by_key(m->state, key, &module, reterr);
	if (r == -ENOENT ||
	    (r == 0 && module.carries != CARRIES_NO && journal_now_ns() - module.verdict_ns > LOOK_AGAIN_NS))
		r = module_look(m, from, key, reterr);
	module_row_done(&module);
	return r;
}

static int module_take(struct manager *m, const struct sample_log *log,
		       const struct sample_module *from, struct fault *reterr)
{
	char key[PATH_MAX + 32];
	struct generation_row generation = { 0 };
	struct module_row module = { 0 };
	int r;

	module_key(from, key, sizeof(key));
	r = generation_get_by_build_id(m->state, key, &generation, reterr);
	if (r == 0) {
		r = module_get(m->state, generation.module, &module, reterr);
		if (r == 0)
			r = tally_add(m->state, &module, generation.id, from, log,
				      m->settings.half_life, reterr);
	} else if (r == -ENOENT) {
		r = module_get_by_key(m->state, key, &module, reterr);
		if (r == 0)
			r = tally_count(m->state, &module, from->total, reterr);
	}
	generation_row_done(&generation);
	module_row_done(&module);
	return r;
}

static int totals_take(struct manager *m, const struct sample_log *log, struct fault *reterr)
{
	const struct {
		const char *key;
		uint64_t value;
	} totals[] = { { "logs", 1 },
		       { "fired", log->fired },
		       { "idle", log->idle },
		       { "kernel", log->kernel },
		       { "user", log->user },
		       { "attributed", log->attributed },
		       { "anonymous", log->anonymous } };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(totals); i++)
		r = journal_total(m->state, totals[i].key, totals[i].value, reterr);
	for (int i = 0; r == 0 && i < SAMPLE_LOSS_END; i++) {
		char key[64];

		snprintf(key, sizeof(key), "lost_%s", sample_loss_name((enum sample_loss)i));
		r = journal_total(m->state, key, log->lost[i], reterr);
	}
	return r;
}

/* Step 3. Returns 1 when the file had been taken before. */
static int take(struct manager *m, const struct spool_file *file, const struct sample_log *log,
		struct fault *reterr)
{
	int64_t known;
	int r = state_integer(m->state, &known, reterr,
			      "SELECT count(*) FROM spool_file WHERE name = ? AND digest = ?", "tt",
			      file->name, file->digest);

	if (r < 0 || known)
		return r < 0 ? r : 1;
	r = state_do(m->state, reterr, "INSERT INTO spool_file(name, digest) VALUES(?, ?)", "tt",
		     file->name, file->digest);
	if (r == 0)
		r = state_do(m->state, reterr, "DELETE FROM spool_file WHERE serial <= ?", "i",
			     state_last_id(m->state) - INTAKE_REMEMBERED);
	if (r == 0)
		r = totals_take(m, log, reterr);
	for (size_t i = 0; r == 0 && i < log->n_modules; i++)
		r = module_take(m, log, &log->modules[i], reterr);
	return r;
}

static int take_in_transaction(struct manager *m, const struct spool_file *file,
			       const struct sample_log *log, struct fault *reterr)
{
	int r = state_begin(m->state, reterr), committed;

	if (r < 0)
		return r;
	r = take(m, file, log, reterr);
	committed = r == 0 ? state_commit(m->state, reterr) : 0;
	state_undo(m->state);
	return committed < 0 ? committed : r;
}

int intake_file(struct manager *m, const char *name, struct fault *reterr)
{
	_clean_(spool_file_done) struct spool_file file = { .name = name, .dir_fd = -1 };
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	int r = spool_file_read(m->spool, &file, reterr), set;

	if (r == 0)
		r = log_decode(&file, &log, reterr);
	if (r == -EBADMSG) {
		struct fault why = *reterr;

		set = set_aside(m, &file, &why, reterr);
		if (set == 0)
			*reterr = why;
		return set < 0 ? set : r;
	}
	for (size_t i = 0; r == 0 && i < log->n_modules; i++)
		r = module_prepare(m, &log->modules[i], reterr);
	if (r == 0)
		r = take_in_transaction(m, &file, log, reterr);
	if (r < 0)
		return fault_prefix(reterr, r, "%s", name);
	if (unlinkat(file.dir_fd, name, 0) < 0 && errno != ENOENT)
		return fault_errno(reterr, -errno, "%s/%s: taken, but it cannot be deleted", m->spool, name);
	return r;
}

static int is_sample_file(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name), suffix = strlen(INTAKE_SUFFIX);

	return entry->d_name[0] != '.' && n > suffix &&
	       strcmp(entry->d_name + n - suffix, INTAKE_SUFFIX) == 0;
}

int intake_scan(struct manager *m, unsigned limit, struct fault *reterr)
{
	struct dirent **entries = NULL;
	int n, done = 0;
	bool full = false;

	if (manager_monotonic_ns() < m->full_until_ns)
		return 0;
	n = scandir(m->spool, &entries, is_sample_file, alphasort);
	if (n < 0)
		return fault_errno(reterr, -errno, "%s: cannot read the spool directory", m->spool);
	for (int i = 0; i < n; i++) {
		struct fault fault = { "" };
		int r = 0;

		if (!full && (unsigned)done < limit)
			r = intake_file(m, entries[i]->d_name, &fault);
		if (r < 0 && r != -ENOENT)
			manager_log_fault(m, r, &fault);
		/* A file that stays does not count, so that it cannot keep others from their turn. */
		done += r >= 0 || r == -EBADMSG;
		full = full || r == -ENOSPC || r == -EUCLEAN;
		free(entries[i]);
	}
	free(entries);
	if (full)
		m->full_until_ns = manager_monotonic_ns() + FULL_PAUSE_NS;
	return full ? 0 : MIN(done, (int)limit);
}
