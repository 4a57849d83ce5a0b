/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "manager/activation.h"
#include "manager/decide.h"
#include "manager/edit.h"
#include "manager/installed.h"
#include "manager/journal.h"
#include "manager/watch.h"

struct request {
	struct request *next;
	int64_t module;
	char *path;
	char reason[DECIDE_REASON_MAX];
	request_done done;
	void *userdata;
};

static void request_free(struct request *request)
{
	free(request->path);
	free(request);
}

void requests_free(struct manager *m)
{
	while (m->requests) {
		struct request *request = m->requests;

		m->requests = request->next;
		if (request->done)
			request->done(request->userdata, -ECANCELED, "morphd was stopped");
		request_free(request);
	}
}

int edit_start_failed(struct manager *m, int64_t module, int code, struct fault *reterr)
{
	struct fault why = *reterr;
	int r = state_do(m->state, reterr,
			 "UPDATE module SET failures = failures + 1, edit_ns = ? WHERE id = ?", "ii",
			 journal_now_ns(), module);

	manager_log_fault(m, code, &why);
	if (r == 0)
		r = journal_event(m->state, module, NULL, EVENT_FAILED, reterr, "%s", why.text);
	return r;
}

void manager_next(struct manager *m)
{
	while (!m->edit && m->requests) {
		struct request *request = m->requests;
		struct edit_request edit = { .module = request->module, .path = request->path,
					     .reason = request->reason, .done = request->done,
					     .userdata = request->userdata };
		struct fault fault = { "" };
		int r;

		m->requests = request->next;
		r = edit_start(m, &edit, &fault);
		if (r < 0) {
			struct fault why = fault;

			edit_start_failed(m, request->module, r, &fault);
			if (request->done)
				request->done(request->userdata, r, why.text);
		}
		request_free(request);
	}
}

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

static int refuse(struct manager *m, const struct installed *in, char reason[DECIDE_REASON_MAX],
		  struct fault *reterr)
{
	const char *path = in->target.path;
	_clean_(freep) char *pin = NULL;
	int verdict = DECIDE_NEVER;
	int r = pin_get(m->state, path, &pin, reterr);

	if (r == 1)
		return fault_set(reterr, -EPERM, "%s: is pinned (%s); `morph pin --unpin %s` first", path,
				 pin, path);
	if (r == 0)
		r = activation_may(m, path, reterr);
	if (r == 0)
		r = manager_decide(m, &in->module, false, &verdict, reason, reterr);
	if (r == 0 && verdict != DECIDE_EDIT)
		r = fault_set(reterr, -ENODATA, "%s: %s", path, reason);
	return r;
}

static void enqueue(struct manager *m, struct request *request)
{
	struct request **last = &m->requests;

	while (*last)
		last = &(*last)->next;
	*last = request;
}

int manager_reoptimize(struct manager *m, const char *path, request_done done, void *userdata,
		       struct fault *reterr)
{
	struct request *request = calloc(1, sizeof(*request));
	char resolved[PATH_MAX];
	struct installed in;
	int r = request ? resolve(m, path, resolved, reterr) : fault_errno(reterr, -ENOMEM, "%s", path);

	if (r == 0)
		r = installed_open(m, resolved, &in, reterr);

	if (r < 0) {
		free(request);
		return r;
	}
	r = refuse(m, &in, request->reason, reterr);
	if (r == 0 && !(request->path = strdup(in.target.path)))
		r = fault_errno(reterr, -ENOMEM, "%s", path);
	if (r == 0) /* the user wants it whatever happened before */
		r = state_do(m->state, reterr, "UPDATE module SET condemned = NULL WHERE id = ?", "i",
			     in.module.id);
	request->module = in.module.id;
	request->done = done;
	request->userdata = userdata;
	installed_done(&in);
	if (r < 0) {
		request_free(request);
		return r;
	}
	enqueue(m, request);
	return 0;
}

/* What the user took back stays back: no automatic edit until the next build or request. */
static int rolled_back(struct manager *m, int64_t module, const char *path, struct fault *reterr)
{
	char text[PATH_MAX + 64];

	snprintf(text, sizeof(text), "%s was rolled back by request", path);
	return state_do(m->state, reterr, "UPDATE module SET condemned = ? WHERE id = ?", "ti", text, module);
}

int manager_rollback(struct manager *m, const char *path, int64_t number, char *rettext, size_t size,
		     struct fault *reterr)
{
	struct target_row target = { 0 };
	char resolved[PATH_MAX];
	struct installed in;
	int r = resolve(m, path, resolved, reterr);

	if (r == 0)
		r = installed_open(m, resolved, &in, reterr);
	if (r < 0)
		return r;
	r = activation_switch(m, resolved, number, EVENT_ROLLED_BACK, "by request", reterr);
	if (r >= 0)
		snprintf(rettext, size, r == 1 ? "%s: generation %lld is active already"
					       : "%s: generation %lld is active again",
			 in.target.path, (long long)number);
	if (r >= 0)
		r = rolled_back(m, in.module.id, in.target.path, reterr);
	target_row_done(&target);
	installed_done(&in);
	return r;
}

int manager_rollback_all(struct manager *m, unsigned *retn, struct fault *reterr)
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
			one = manager_rollback(m, *path, 0, text, sizeof(text), &fault);
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

int manager_pin(struct manager *m, const char *path, const char *reason, struct fault *reterr)
{
	char resolved[PATH_MAX];
	int r = resolve(m, path, resolved, reterr);

	if (r == 0)
		r = pin_set(m->state, resolved, reason, reterr);
	if (r == 0)
		r = journal_event(m->state, 0, resolved, EVENT_PINNED, reterr, "%s", reason);
	return r;
}

int manager_unpin(struct manager *m, const char *path, struct fault *reterr)
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
