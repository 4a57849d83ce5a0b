/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/intake/intake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "manager/act/watch.h"
#include "manager/count/cost.h"
#include "manager/count/news.h"
#include "manager/count/pending.h"
#include "manager/count/tally.h"
#include "manager/count/usage.h"
#include "manager/intake/spool_file.h"
#include "manager/keep/clock_step.h"
#include "manager/keep/journal.h"
#include "manager/keep/verified.h"
#include "manager/program/examine.h"
#include "manager/program/installed.h"
#include "profiles/samples/lifecycle.h"
#include "profiles/samples/sample_log.h"

#define FULL_PAUSE_NS (60ull * 1000000000)
#define BUILD_ID_MIN 8			   /* bytes; a shorter one identifies nothing */
#define LOOK_AGAIN_NS (600ll * 1000000000) /* at a file that was not there, or another build */

static int log_check(const struct sample_log *log, struct fault *reterr)
{
	if (log->source == SAMPLE_SOURCE_EXACT)
		return fault_set(reterr, -EBADMSG, "holds execution counts, not samples");
	if (log->source == SAMPLE_SOURCE_FAULTS)
		return fault_set(reterr, -EBADMSG, "holds page faults, not samples");
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

/*
 * Which row of the table `module` stands for it. A file that the kernel knew is known by that; a build ID alone is what
 * anybody may claim, so it never leads to a module that morphd knows.
 */
static void module_key(const struct sample_module *module, char *ret, size_t size)
{
	char text[BUILD_ID_MAX_TEXT], file[PENDING_KEY_MAX];

	if (module->kind == SAMPLE_MODULE_FILE && file_identity_is_known(&module->file)) {
		pending_key(&module->file, file);
		snprintf(ret, size, "%s", file);
	} else if (module->kind == SAMPLE_MODULE_FILE && module->build_id.size) {
		snprintf(ret, size, "claimed:%s", build_id_text(&module->build_id, text));
	} else {
		snprintf(ret, size, "%s:%s", sample_module_kind_name(module->kind), module->path);
	}
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

/* Why a file counts for itself only. */
static int apart_note(struct manager *m, const struct sample_module *from, const char *key, const char *why,
		      struct fault *reterr)
{
	struct generation_row generation = { 0 };
	struct module_row module = { 0 };
	char text[BUILD_ID_MAX_TEXT], note[PATH_MAX + 128];
	int r = from->build_id.size ?
			generation_get_by_build_id(m->state, build_id_text(&from->build_id, text),
						   &generation, reterr) :
			-ENOENT;

	if (r == 0)
		r = module_get(m->state, generation.module, &module, reterr);
	if (r == 0)
		snprintf(note, sizeof(note), "another file with the build ID of %s%s", module.path,
			 from->space ? ", in another mount namespace" : "");
	else
		snprintf(note, sizeof(note), "%s%s", why,
			 from->space ? " (named in another mount namespace)" : "");
	module_row_done(&module);
	generation_row_done(&generation);
	return r < 0 && r != -ENOENT ? r : module_note(m, from, key, CARRIES_REFUSED, note, reterr);
}

/* Does its name lead to this very file here? A name is only a hint: it may be of another mount namespace, or of before. */
static int file_check(struct manager *m, const struct sample_module *from, struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;
	struct file_identity found;
	char full[PATH_MAX];

	if (from->path[0] != '/' || !settings_path(&m->settings, from->path, full))
		return fault_set(reterr, -ENOENT, "it has no name here");
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fault_set(reterr, -ENOENT, "%s: %s", from->path, strerror(errno));
	if (file_identity_of_fd(fd, &found) < 0 || !file_identity_is_equal(&found, &from->file))
		return fault_set(reterr, -ENOENT, "another file stands at its path");
	return 0;
}

/* Step 2 for a file that was never verified, and whose name leads to it. */
static int module_look(struct manager *m, const struct sample_module *from, const char *key,
		       struct fault *reterr)
{
	struct examination e;
	struct fault fault = { "" };
	struct installed in;
	int r = file_check(m, from, &fault);

	if (r < 0)
		return apart_note(m, from, key, fault.text, reterr);
	r = examine_file(&m->settings, from->path, NULL, &e, &fault);
	if (r < 0)
		return apart_note(m, from, key, fault.text, reterr);
	examination_done(&e);
	if (e.carries == CARRIES_REFUSED)
		return apart_note(m, from, key, e.note, reterr);
	/* It may be a generation; installed_open() compares bytes with what is known, and enters the file as verified. */
	r = installed_open(m, from->path, &in, &fault);
	if (r == 0)
		installed_done(&in);
	if (r < 0 && e.carries != CARRIES_YES && r == -ENODATA)
		return module_note(m, from, key, e.carries, e.note, reterr);
	if (r < 0)
		return apart_note(m, from, key, fault.text, reterr);
	return journal_event(m->state, in.module.id, from->path, EVENT_SEEN, reterr,
			     "first samples of a program that carries Morph data");
}

/* Step 2: what must be known about a module before its counts are entered. */
static int module_prepare(struct manager *m, const struct sample_module *from, struct fault *reterr)
{
	char key[PATH_MAX + 32];
	struct module_row module = { 0 };
	int64_t generation;
	int r = verified_find(m->state, &from->file, &generation, reterr);

	if (r != -ENOENT)
		return r;
	module_key(from, key, sizeof(key));
	r = module_get_by_key(m->state, key, &module, reterr);
	if (from->kind == SAMPLE_MODULE_FILE && file_identity_is_known(&from->file)) {
		if (r == -ENOENT || (r == 0 && module.carries != CARRIES_NO &&
				     journal_now_ns() - module.verdict_ns > LOOK_AGAIN_NS))
			r = module_look(m, from, key, reterr);
	} else if (r == -ENOENT) {
		r = module_note(m, from, key, CARRIES_NO,
				from->kind == SAMPLE_MODULE_FILE ? "which file it was is not known" :
								   "not a program",
				reterr);
	}
	module_row_done(&module);
	return r;
}

static int verified_take(struct manager *m, const struct sample_log *log, const struct sample_module *from,
			 int64_t generation, int64_t log_serial, struct fault *reterr)
{
	struct module_row module = { 0 };
	int64_t owner = 0;
	int r = state_integer(m->state, &owner, reterr, "SELECT module FROM generation WHERE id = ?", "i",
			      generation);

	if (r == 0)
		r = module_get(m->state, owner, &module, reterr);
	if (r == 0)
		r = tally_advance(m->state, &module, log->duration_ns, log_serial, reterr);
	if (r == 0)
		r = tally_add(m->state, &module, generation, from, log, m->settings.half_life_s, reterr);
	if (r == 0)
		r = cost_add_samples(m->state, generation, from, log, reterr);
	if (r == 0 && m->has_news && settings_has_fleet(&m->settings))
		r = news_add(m->state, generation, from, reterr);
	module_row_done(&module);
	return r;
}

static int module_take(struct manager *m, const struct sample_log *log, const struct sample_module *from,
		       int64_t log_serial, struct fault *reterr)
{
	char key[PATH_MAX + 32];
	struct module_row module = { 0 };
	int64_t generation = 0;
	int r = verified_find(m->state, &from->file, &generation, reterr);

	if (r != -ENOENT)
		return r < 0 ? r : verified_take(m, log, from, generation, log_serial, reterr);
	module_key(from, key, sizeof(key));
	r = module_get_by_key(m->state, key, &module, reterr);
	if (r == 0)
		r = tally_count(m->state, &module, from->total, reterr);
	if (r == 0 && (module.carries == CARRIES_REFUSED || module.carries == CARRIES_ELSEWHERE) &&
	    from->build_id.size >= BUILD_ID_MIN && file_identity_is_known(&from->file))
		r = pending_add(m->state, module.id, from, reterr);
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
static int take_samples(struct manager *m, const struct spool_file *file, const struct sample_log *log,
			struct fault *reterr)
{
	int64_t serial = 0;
	int r = spool_file_remember(m, file, &serial, reterr);

	if (r == 0)
		r = totals_take(m, log, reterr);
	if (r == 0)
		r = usage_add(m->state, log, m->settings.usage_days, reterr);
	for (size_t i = 0; r == 0 && i < log->n_modules; i++)
		r = module_take(m, log, &log->modules[i], serial, reterr);
	return r;
}

static int take_events(struct manager *m, const struct spool_file *file, const struct lifecycle *lifecycle,
		       struct fault *reterr)
{
	int64_t serial;
	int r = spool_file_remember(m, file, &serial, reterr);

	for (size_t i = 0; r == 0 && i < lifecycle->n_events; i++)
		r = watch_count(m, &lifecycle->events[i], reterr);
	return r;
}

static int take_in_transaction(struct manager *m, const struct spool_file *file, const struct sample_log *log,
			       const struct lifecycle *lifecycle, struct fault *reterr)
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
		r = has_suffix(name, LIFECYCLE_SUFFIX) ? events_file(m, &file, reterr) :
							 samples_file(m, &file, reterr);
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

/* A file that was sampled before it could be looked at may be known by now. */
static void adopt(struct manager *m)
{
	struct fault fault = { "" };
	unsigned n = 0;
	int r = pending_adopt(m->state, m->settings.half_life_s, &n, &fault);

	if (r < 0)
		manager_log_fault(m, r, &fault);
}

static int is_spool_file(const struct dirent *entry)
{
	return has_suffix(entry->d_name, INTAKE_SUFFIX) || has_suffix(entry->d_name, LIFECYCLE_SUFFIX);
}

int intake_scan(struct manager *m, unsigned limit, struct fault *reterr)
{
	struct dirent **entries = NULL;
	int n = clock_step_look(m, reterr), done = 0;
	bool full = false;

	if (n < 0 || manager_monotonic_ns() < m->full_until_ns)
		return n;
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
	adopt(m);
	if (full)
		m->full_until_ns = manager_monotonic_ns() + FULL_PAUSE_NS;
	return full ? 0 : MIN(done, (int)limit);
}
