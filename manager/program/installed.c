/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/program/installed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/keep/digest.h"
#include "manager/keep/journal.h"
#include "manager/keep/store.h"
#include "manager/keep/verified.h"
#include "manager/mount/mounts.h"
#include "manager/place/place.h"
#include "manager/program/carryover.h"
#include "manager/program/priors.h"
#include "manager/shadow/shadow.h"
#include "profiles/samples/sample_log.h"

void installed_done(struct installed *installed)
{
	examination_done(&installed->examination);
	target_row_done(&installed->target);
	module_row_done(&installed->module);
	generation_row_done(&installed->generation);
}

/* The module of a shipped file that was never sampled: added with its generation 0. */
static int shipped_add(struct manager *m, struct installed *in, struct fault *reterr)
{
	const struct examination *e = &in->examination;
	char digest[DIGEST_TEXT];
	struct generation_row row = { .build_id = (char *)e->build_id,
				      .digest = digest,
				      .state = "shipped",
				      .size = e->file.st.st_size,
				      .created_ns = journal_now_ns() };
	int r = digest_fd(e->file.fd, e->file.path, digest, reterr);

	if (r == 0)
		r = module_get_by_key(m->state, e->build_id, &in->module, reterr);
	if (r == -ENOENT)
		r = module_add(m->state, e->build_id, SAMPLE_MODULE_FILE, e->file.path, &in->module.id,
			       reterr);
	if (r == 0)
		r = module_set_carries(m->state, in->module.id, e->carries, NULL, e->llvm_version, reterr);
	if (r == 0)
		r = carryover_recall(m, in->module.id, e->build_id, reterr);
	row.module = in->module.id;
	if (r == 0)
		r = generation_add(m->state, &row, NULL, reterr);
	if (r == 0)
		r = generation_get_by_build_id(m->state, e->build_id, &in->generation, reterr);
	return r;
}

/*
 * Of a Morph before version 3 of state.db: a shipped file that was seen, but not kept, or a row whose file in the store
 * could not be found (renewal.h).
 */
static int old_identify(struct manager *m, struct installed *in, const char *digest, struct fault *reterr)
{
	const struct replacement *file = &in->examination.file;
	char renewed[DIGEST_TEXT];

	if (in->generation.digest[0] &&
	    digest_renew(file->fd, file->path, in->generation.digest, renewed, reterr) < 0)
		return -ESTALE;
	if (!in->generation.digest[0] && in->generation.number != 0)
		return fault_set(reterr, -ESTALE,
				 "%s: is generation %lld by its build ID, but what its bytes must be "
				 "is not known any more; left as it is",
				 in->examination.file.path, (long long)in->generation.number);
	free(in->generation.digest);
	in->generation.digest = strdup(digest);
	if (!in->generation.digest)
		return fault_errno(reterr, -ENOMEM, "%s", in->examination.file.path);
	return state_do(m->state, reterr, "UPDATE generation SET digest = ? WHERE id = ?", "ti", digest,
			in->generation.id);
}

/* Which generation has these bytes? The build ID proposes, the content decides. */
static int generation_find(struct manager *m, struct installed *in, struct fault *reterr)
{
	const struct examination *e = &in->examination;
	char digest[DIGEST_TEXT];
	int r = generation_get_by_build_id(m->state, e->build_id, &in->generation, reterr);

	if (r == -ENOENT && e->carries != CARRIES_YES)
		return fault_set(reterr, -ENODATA, "%s: %s", e->file.path, e->note);
	if (r == -ENOENT)
		r = shipped_add(m, in, reterr);
	if (r == 0)
		r = module_get(m->state, in->generation.module, &in->module, reterr);
	if (r == 0)
		r = digest_fd(e->file.fd, e->file.path, digest, reterr);
	if (r == 0 && (!in->generation.digest[0] || digest_is_old(in->generation.digest)))
		return old_identify(m, in, digest, reterr);
	if (r == 0 && strcmp(digest, in->generation.digest) != 0)
		r = fault_set(reterr, -ESTALE,
			      "%s: has the build ID of generation %lld of another program, but other "
			      "bytes (SHA-256 %.16s..., not %.16s...): changed after linking, or made to "
			      "look like it; "
			      "left as it is",
			      e->file.path, (long long)in->generation.number, digest, in->generation.digest);
	return r;
}

/* A generation keeps the shipped file's owner, mode and time, so a @new row may take them from it. */
static void target_fill(struct installed *in, bool new, bool shadowed)
{
	const struct stat *st = &in->examination.file.st;
	struct target_row *t = &in->target;

	t->module = in->module.id;
	target_take_stat(t, st);
	if (shadowed)
		return;
	t->generation = in->generation.number;
	if (in->generation.number == 0 || new) {
		t->uid = st->st_uid;
		t->gid = st->st_gid;
		t->mode = st->st_mode & 07777;
		t->mtime_ns = stat_mtime_ns(st);
		t->watch_left_s = t->watch_crashes = 0;
	}
}

static int upgrade_note(struct manager *m, const struct target_row *old, const char *what,
			struct fault *reterr)
{
	struct module_row module = { 0 };
	int r = module_get(m->state, old->module, &module, reterr);

	if (r == 0)
		r = journal_event(m->state, old->module, old->path, EVENT_UPGRADED, reterr, "%s", what);
	if (r == 0)
		store_drop_target(m->store, module.key, old->path, NULL);
	module_row_done(&module);
	return r;
}

/* Is the packaged file to be seen only because packages are being installed? */
static bool is_below(const struct manager *m, const struct installed *in)
{
	return in->generation.number == 0 && in->target.generation > 0 && mounts_are_suspended(m) &&
	       mounts_has(m, in->target.path) == in->target.generation;
}

/* Is it the packaged file of a generation that stands beside it? */
static bool is_shadowed(const struct manager *m, const struct installed *in)
{
	return in->target.module == in->module.id && in->generation.number == 0 &&
	       shadow_has(m, in->target.path, in->target.generation);
}

/* The generation that is found by name is the one that counts, though the file at the path is as shipped. */
static int shadow_count(struct manager *m, struct installed *in, struct fault *reterr)
{
	struct generation_row row = { 0 };
	int r = generation_get(m->state, in->module.id, in->target.generation, &row, reterr);

	if (r < 0)
		return r;
	generation_row_done(&in->generation);
	in->generation = row;
	return 0;
}

/* The row for a path whose file is known: new, moved to another module, or only looked at again. */
static int target_settle(struct manager *m, struct installed *in, bool known, struct fault *reterr)
{
	int64_t module = in->target.module, generation = in->target.generation;
	char carried[512], text[640];
	bool shadowed = known && is_shadowed(m, in);
	int r = 0;

	if (!known && !(in->target.path = strdup(in->examination.file.path)))
		return fault_errno(reterr, -ENOMEM, "%s", in->examination.file.path);
	if (known && module != in->module.id) {
		r = carryover_make(m, module, in, carried, sizeof(carried), reterr);
		if (r == 0)
			r = prior_inherit(m->state, module, in->module.id, reterr);
		snprintf(text, sizeof(text), "replaced by another build; %s", carried);
		if (r == 0)
			r = upgrade_note(m, &in->target, text, reterr);
		in->target.activated_ns = 0;
		known = false;
	} else if (known && is_below(m, in)) {
		return 0; /* the generation will be over it again when the packages are installed */
	} else if (known && generation >= 0 && generation != in->generation.number && !shadowed) {
		r = journal_event(m->state, in->module.id, in->target.path, EVENT_UPGRADED, reterr,
				  "generation %lld was replaced by generation %lld, not by morphd",
				  (long long)generation, (long long)in->generation.number);
	}
	if (r < 0)
		return r;
	target_fill(in, !known, shadowed);
	r = target_put(m->state, &in->target, reterr);
	if (r == 0)
		r = verified_put(m->state, in->generation.id, in->examination.file.fd, reterr);
	return r == 0 && shadowed ? shadow_count(m, in, reterr) : r;
}

/* The file at a known path cannot be optimized any more. */
static int target_lose(struct manager *m, struct installed *in, const char *why, struct fault *reterr)
{
	int r = upgrade_note(m, &in->target, why, reterr);

	return r < 0 ? r : target_drop(m->state, in->target.path, reterr);
}

static int settle_in_transaction(struct manager *m, struct installed *in, struct fault *reterr)
{
	struct fault ignored;
	bool known;
	int r, code;

	r = target_get(m->state, in->examination.file.path, &in->target, &ignored);
	if (r < 0 && r != -ENOENT)
		return fault_set(reterr, r, "%s", ignored.text);
	known = r == 0;
	code = generation_find(m, in, reterr);
	if (code == 0)
		code = refusal_clear(m->state, in->examination.file.path, reterr);
	if (code == 0)
		return target_settle(m, in, known, reterr);
	if (code != -ENODATA || !known)
		return code;
	r = target_lose(m, in, "replaced by a file that cannot be optimized", &ignored);
	return r < 0 ? fault_set(reterr, r, "%s", ignored.text) : code;
}

/* For `morph explain`, which must not look itself. A failure here is no reason to fail. */
static void refusal_note(struct manager *m, const char *path, const char *why)
{
	struct fault fault = { "" };
	int r = refusal_put(m->state, path, why, &fault);

	if (r < 0)
		log_debug("%s", fault.text);
}

/* Open and examine: a path that no target has, and that is under no prefix, is not even looked up. */
static int look(struct manager *m, const char *path, struct installed *ret, struct fault *reterr)
{
	struct examination *e = &ret->examination;
	bool known;
	int r;

	*ret = (struct installed){ .examination.file = { .dir_fd = -1, .fd = -1 } };
	known = target_exists(m->state, path);
	r = known ? 0 : place_check_listed(&m->settings, path, reterr);
	if (r == 0)
		r = examine_open(&m->settings, path, e, reterr);
	if (r < 0)
		return r;
	known = target_exists(m->state, e->file.path);
	examine_inside(&m->settings, NULL, known, e);
	if (!e->is_misplaced)
		return 0;
	r = fault_set(reterr, -EACCES, "%s", e->note);
	if (known || place_is_listed(&m->settings, e->file.path))
		refusal_note(m, e->file.path, e->note);
	installed_done(ret);
	return r;
}

int installed_open(struct manager *m, const char *path, struct installed *ret, struct fault *reterr)
{
	int r, committed;

	r = look(m, path, ret, reterr);
	if (r < 0)
		return r;
	r = state_begin(m->state, reterr);
	if (r == 0) {
		struct fault fault = { "" };

		r = settle_in_transaction(m, ret, reterr);
		if (r == -ESTALE)
			refusal_note(m, ret->examination.file.path, reterr->text);
		/* -ENODATA, -ESTALE: what was found out is kept. */
		committed = r == 0 || r == -ENODATA || r == -ESTALE ? state_commit(m->state, &fault) : 0;
		if (committed < 0)
			r = fault_set(reterr, committed, "%s", fault.text);
		state_undo(m->state);
	}
	if (r < 0)
		installed_done(ret);
	return r;
}

static bool needs_a_look(struct manager *m, const char *path)
{
	struct target_row row = { 0 };
	char full[PATH_MAX];
	struct stat st;
	bool same = target_get(m->state, path, &row, NULL) == 0 && settings_path(&m->settings, path, full) &&
		    stat(full, &st) == 0 && target_is_same_file(&row, &st);

	target_row_done(&row);
	return !same;
}

static int target_gone(struct manager *m, const char *path, struct fault *reterr)
{
	struct target_row row = { 0 };
	int r = target_get(m->state, path, &row, reterr);

	if (r == 0)
		r = upgrade_note(m, &row, "the file was removed", reterr);
	if (r == 0)
		r = target_drop(m->state, path, reterr);
	target_row_done(&row);
	return r;
}

int installed_refresh(struct manager *m, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	int r = target_paths(m->state, 0, &paths, reterr);

	for (char **path = paths; r == 0 && *path; path++) {
		struct fault fault = { "" };
		struct installed in;
		int code;

		if (!needs_a_look(m, *path) || (mounts_are_suspended(m) && mounts_has(m, *path)))
			continue;
		code = installed_open(m, *path, &in, &fault);
		if (code == 0)
			installed_done(&in);
		else if (code == -ENOENT)
			r = target_gone(m, *path, reterr);
		else
			log_debug("%s", fault.text);
	}
	return r;
}
