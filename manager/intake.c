/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/intake.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "manager/examine.h"
#include "manager/installed.h"
#include "manager/journal.h"
#include "manager/spool_file.h"
#include "manager/tally.h"
#include "manager/watch.h"
#include "profiles/lifecycle.h"
#include "profiles/sample_log.h"

#define FULL_PAUSE_NS (60ull * 1000000000)
#define LOOK_AGAIN_NS (600ll * 1000000000) /* at a file that was not there, or another build */

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
		       const struct sample_module *from, int64_t log_serial, struct fault *reterr)
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
			r = tally_advance(m->state, &module, log->duration_ns, log_serial, reterr);
		if (r == 0)
			r = tally_add(m->state, &module, generation.id, from, log,
				      m->settings.half_life_s, reterr);
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
static int take_samples(struct manager *m, const struct spool_file *file,
			const struct sample_log *log, struct fault *reterr)
{
	int64_t serial = 0;
	int r = spool_file_remember(m, file, &serial, reterr);

	if (r == 0)
		r = totals_take(m, log, reterr);
	for (size_t i = 0; r == 0 && i < log->n_modules; i++)
		r = module_take(m, log, &log->modules[i], serial, reterr);
	return r;
}

static int take_events(struct manager *m, const struct spool_file *file,
		       const struct lifecycle *lifecycle, struct fault *reterr)
{
	int64_t serial;
	int r = spool_file_remember(m, file, &serial, reterr);

	for (size_t i = 0; r == 0 && i < lifecycle->n_events; i++)
		r = watch_count(m, &lifecycle->events[i], reterr);
	return r;
}

static int take_in_transaction(struct manager *m, const struct spool_file *file,
			       const struct sample_log *log, const struct lifecycle *lifecycle,
			       struct fault *reterr)
{
	int r = state_begin(m->state, reterr), committed;

	if (r < 0)
		return r;
	r = log ? take_samples(m, file, log, reterr) : take_events(m, file, lifecycle, reterr);
	committed = r == 0 ? state_commit(m->state, reterr) : 0;
	state_undo(m->state);
	return committed < 0 ? committed : r;
}

/* Steps 1 to 3 for a sample log. */
static int samples_file(struct manager *m, const struct spool_file *file, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	int r = log_decode(file, &log, reterr);

	for (size_t i = 0; r == 0 && i < log->n_modules; i++)
		r = module_prepare(m, &log->modules[i], reterr);
	return r < 0 ? r : take_in_transaction(m, file, log, NULL, reterr);
}

/* The same for a file of events; what they mean is judged when they are safely counted. */
static int events_file(struct manager *m, const struct spool_file *file, struct fault *reterr)
{
	_clean_(lifecycle_donep) struct lifecycle lifecycle = { 0 };
	int r = lifecycle_decode((const char *)file->bytes.data, file->bytes.size, &lifecycle, reterr);

	if (r < 0)
		return fault_prefix(reterr, r == -ENOMEM ? r : -EBADMSG, "%s", file->name);
	r = take_in_transaction(m, file, NULL, &lifecycle, reterr);
	return r == 0 ? watch_judge(m, reterr) : r;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), n_suffix = strlen(suffix);

	return name[0] != '.' && n > n_suffix && strcmp(name + n - n_suffix, suffix) == 0;
}

int intake_file(struct manager *m, const char *name, struct fault *reterr)
{
	_clean_(spool_file_done) struct spool_file file;
	int r = spool_file_read(m->spool, name, &file, reterr), deleted;

	if (r == 0)
		r = has_suffix(name, LIFECYCLE_SUFFIX) ? events_file(m, &file, reterr)
						       : samples_file(m, &file, reterr);
	if (r == -EBADMSG) {
		struct fault why = *reterr;

		r = spool_file_set_aside(m, &file, &why, reterr);
		if (r == 0)
			*reterr = why;
		return r < 0 ? r : -EBADMSG;
	}
	if (r < 0)
		return fault_prefix(reterr, r, "%s", name);
	deleted = spool_file_delete(m, &file, reterr);
	return deleted < 0 ? deleted : r;
}

static int is_spool_file(const struct dirent *entry)
{
	return has_suffix(entry->d_name, INTAKE_SUFFIX) || has_suffix(entry->d_name, LIFECYCLE_SUFFIX);
}

int intake_scan(struct manager *m, unsigned limit, struct fault *reterr)
{
	struct dirent **entries = NULL;
	int n, done = 0;
	bool full = false;

	if (manager_monotonic_ns() < m->full_until_ns)
		return 0;
	n = scandir(m->spool, &entries, is_spool_file, alphasort);
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
