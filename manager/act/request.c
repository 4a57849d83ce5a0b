/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "manager/act/activation.h"
#include "manager/act/memos.h"
#include "manager/act/tuned.h"
#include "manager/act/verdict.h"
#include "manager/act/watch.h"
#include "manager/keep/journal.h"
#include "manager/keep/path.h"
#include "manager/program/installed.h"

/* The path that a symbolic link stands for. Only for those who may change something: it looks as morphd. */
static int resolve(struct manager *m, const char *path, char ret[PATH_MAX], struct fault *reterr)
{
	struct replacement file;
	int r = replacement_open(m->settings.root, path, &file, reterr);

	if (r < 0)
		return r;
	snprintf(ret, PATH_MAX, "%s", file.path);
	replacement_done(&file);
	return 0;
}

/* What is installed at @path, by its real name @resolved. */
static int open_at(struct manager *m, const char *path, char resolved[PATH_MAX], struct installed *ret,
		   struct fault *reterr)
{
	int r = resolve(m, path, resolved, reterr);

	return r < 0 ? r : installed_open(m, resolved, ret, reterr);
}

static int refuse(struct manager *m, const struct installed *in, char reason[DECIDE_REASON_MAX],
		  struct fault *reterr)
{
	const char *path = in->target.path;
	_clean_(freep) char *pin = NULL;
	enum decision verdict = DECIDE_NEVER;
	int r = pin_get(m->state, path, &pin, reterr);

	if (r == 1)
		return fault_set(reterr, -EPERM, "%s: is pinned (%s); `morph pin --unpin %s` first", path,
				 pin, path);
	if (r == 0)
		r = activation_may(m, path, reterr);
	if (r == 0)
		r = verdict_on(m, &in->module, false, &verdict, reason, reterr);
	if (r == 0 && verdict != DECIDE_EDIT)
		r = fault_set(reterr, -ENODATA, "%s: %s", path, reason);
	return r;
}

int request_reoptimize(struct manager *m, const char *path, edit_done done, void *userdata,
		       struct fault *reterr)
{
	char resolved[PATH_MAX], reason[DECIDE_REASON_MAX];
	struct installed in;
	int r = open_at(m, path, resolved, &in, reterr);

	if (r < 0)
		return r;
	r = refuse(m, &in, reason, reterr);
	if (r == 0) /* the user wants it whatever happened before */
		r = state_do(m->state, reterr,
			     "UPDATE module SET condemned = NULL, condemned_ns = 0 WHERE id = ?", "i",
			     in.module.id);
	if (r == 0)
		r = tuned_forget(m, in.module.id, reterr);
	if (r == 0)
		r = queue_add(m->queue,
			      &(struct edit_request){
				      .module = in.module.id, .path = in.target.path, .reason = reason },
			      done, userdata, reterr);
	installed_done(&in);
	return r;
}

/* Only a name that nobody could mean anything else by. */
static int directory_find(struct manager *m, const char *name, char ret[PATH_MAX], struct fault *reterr)
{
	static const char prefix[] = "tuned.";
	char state[PATH_MAX];
	size_t n = strlen(prefix);

	if (strncmp(name, prefix, n) != 0 || strlen(name) != n + 6 ||
	    strspn(name + n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != 6)
		return fault_set(reterr, -EINVAL, "\"%s\" is no directory of measured generations", name);
	return settings_path(&m->settings, m->settings.state_directory, state) &&
			       path_join(state, name, ret)[0] ?
		       0 :
		       fault_errno(reterr, -ENAMETOOLONG, "%s", name);
}

/* Every path of the module: what was measured at one holds for all. */
static int shipped_return(struct manager *m, const struct installed *in, const char *text,
			  struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	int r = target_paths(m->state, in->module.id, &paths, reterr);

	for (char **path = paths; r >= 0 && *path; path++)
		r = activation_switch(m, *path, 0, EVENT_ROLLED_BACK, text, reterr);
	return r < 0 ? r : tuned_note(m, in->module.id, 0, text, reterr);
}

static int generation_take(struct manager *m, const struct installed *in, const char *directory,
			   const char *text, edit_done done, void *userdata, struct fault *reterr)
{
	struct edit_request request = { .module = in->module.id, .path = in->target.path, .reason = text };
	char made[PATH_MAX];
	int r = directory_find(m, directory, made, reterr);

	request.made = made;
	if (r == 0)
		r = activation_may(m, in->target.path, reterr);
	if (r == 0) /* it was measured whatever happened before */
		r = state_do(m->state, reterr,
			     "UPDATE module SET condemned = NULL, condemned_ns = 0 WHERE id = ?", "i",
			     in->module.id);
	return r < 0 ? r : queue_add(m->queue, &request, done, userdata, reterr);
}

int request_tuned(struct manager *m, const char *path, const char *directory, const char *text,
		  edit_done done, void *userdata, struct fault *reterr)
{
	char resolved[PATH_MAX];
	_clean_(freep) char *pin = NULL;
	struct installed in;
	int r = open_at(m, path, resolved, &in, reterr);

	if (r < 0)
		return r;
	r = pin_get(m->state, in.target.path, &pin, reterr);
	if (r == 1)
		r = fault_set(reterr, -EPERM, "%s: is pinned (%s)", path, pin);
	else if (r == 0 && !*directory)
		r = shipped_return(m, &in, text, reterr) < 0 ? -EIO : 1;
	else if (r == 0 && strcmp(directory, "active") == 0)
		r = tuned_note(m, in.module.id, in.target.generation, text, reterr) < 0 ? -EIO : 1;
	else if (r == 0)
		r = generation_take(m, &in, directory, text, done, userdata, reterr);
	installed_done(&in);
	return r;
}

/* What the user took back stays back: no automatic edit until the next build or request. */
static int rolled_back(struct manager *m, int64_t module, const char *path, struct fault *reterr)
{
	char text[PATH_MAX + 64];

	int r = memos_drop(m, module, reterr);

	if (r < 0)
		return r;
	snprintf(text, sizeof(text), "%s was rolled back by request", path);
	return state_do(m->state, reterr, "UPDATE module SET condemned = ?, condemned_ns = 0 WHERE id = ?",
			"ti", text, module);
}

int request_rollback(struct manager *m, const char *path, int64_t number, char *rettext, size_t size,
		     struct fault *reterr)
{
	struct target_row target = { 0 };
	char resolved[PATH_MAX];
	struct installed in;
	int r = open_at(m, path, resolved, &in, reterr);

	if (r < 0)
		return r;
	r = activation_switch(m, resolved, number, EVENT_ROLLED_BACK, "by request", reterr);
	if (r >= 0)
		snprintf(rettext, size,
			 r == 1 ? "%s: generation %lld is active already" :
				  "%s: generation %lld is active again",
			 in.target.path, (long long)number);
	if (r >= 0)
		r = rolled_back(m, in.module.id, in.target.path, reterr);
	target_row_done(&target);
	installed_done(&in);
	return r;
}

int request_rollback_all(struct manager *m, unsigned *retn, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	struct fault first = { "" };
	int r = target_paths(m->state, 0, &paths, reterr), failed = 0;

	*retn = 0;
	for (char **path = paths; r == 0 && *path; path++) {
		struct target_row target = { 0 };
		struct fault fault = { "" };
		char text[PATH_MAX + 64];
		int one = target_get(m->state, *path, &target, &fault);

		if (one == 0 && target.generation > 0) {
			one = request_rollback(m, *path, 0, text, sizeof(text), &fault);
			*retn += one == 0;
		}
		target_row_done(&target);
		if (one < 0 && one != -ENOENT) {
			log_error("%s", fault.text);
			first = failed ? first : fault;
			failed = failed ? failed : one;
		}
	}
	return r == 0 && failed ? fault_set(reterr, failed, "%s", first.text) : r;
}

int request_pin(struct manager *m, const char *path, const char *reason, struct fault *reterr)
{
	char resolved[PATH_MAX];
	int r = resolve(m, path, resolved, reterr);

	if (r == 0)
		r = pin_set(m->state, resolved, reason, reterr);
	if (r == 0)
		r = journal_event(m->state, 0, resolved, EVENT_PINNED, reterr, "%s", reason);
	return r;
}

int request_unpin(struct manager *m, const char *path, struct fault *reterr)
{
	char resolved[PATH_MAX];
	struct fault ignored;

	/* The file may be gone; its pin must not be for ever. */
	if (resolve(m, path, resolved, &ignored) < 0)
		snprintf(resolved, sizeof(resolved), "%s", path);
	if (pin_get(m->state, resolved, NULL, reterr) == 0)
		return fault_set(reterr, -ENOENT, "%s: is not pinned", path);
	if (pin_clear(m->state, resolved, reterr) < 0)
		return -EIO;
	return journal_event(m->state, 0, resolved, EVENT_UNPINNED, reterr, "by request");
}

int request_pin_part(struct manager *m, const struct kept_row *part, struct fault *reterr)
{
	char resolved[PATH_MAX];
	struct kept_row row = *part;
	int r = resolve(m, part->path, resolved, reterr);

	row.path = resolved;
	if (r == 0)
		r = kept_set(m->state, &row, reterr);
	return r < 0 ? r :
		       journal_event(m->state, 0, resolved, EVENT_PINNED, reterr,
				     "%s %s stays as shipped: %s", row.kind, row.name, row.reason);
}

int request_unpin_part(struct manager *m, const char *path, const char *kind, const char *name,
		       struct fault *reterr)
{
	char resolved[PATH_MAX];
	struct fault ignored;
	int r;

	if (resolve(m, path, resolved, &ignored) < 0)
		snprintf(resolved, sizeof(resolved), "%s", path);
	r = kept_clear(m->state, resolved, kind, name, reterr);
	return r < 0 ? r :
		       journal_event(m->state, 0, resolved, EVENT_UNPINNED, reterr, "%s %s, by request", kind,
				     name);
}

int request_pardon(struct manager *m, const char *path, struct fault *reterr)
{
	struct target_row target = { 0 };
	struct module_row module = { 0 };
	char resolved[PATH_MAX];
	struct fault ignored;
	int r;

	if (resolve(m, path, resolved, &ignored) < 0)
		snprintf(resolved, sizeof(resolved), "%s", path);
	r = target_get(m->state, resolved, &target, reterr);
	if (r == 0)
		r = module_get(m->state, target.module, &module, reterr);
	if (r == -ENOENT)
		fault_set(reterr, r, "%s: not known to morphd", path);
	if (r == 0 && !module.condemned)
		r = fault_set(reterr, -ENOENT, "%s: nothing is held against it", path);
	if (r == 0)
		r = watch_pardon(m, module.id, "pardoned by request", reterr);
	module_row_done(&module);
	target_row_done(&target);
	return r;
}
