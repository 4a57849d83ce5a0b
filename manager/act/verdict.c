/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/verdict.h"

#include <stdlib.h>

#include "manager/act/activation.h"
#include "manager/act/allowed.h"
#include "manager/act/tuned.h"
#include "manager/act/quota.h"
#include "manager/decide/machine.h"
#include "manager/keep/journal.h"
#include "manager/program/priors.h"

#define SAMPLES_MAX 1e15

/* May a generation be activated at a path? activation_may(), or what it said lately. */
typedef int may_activate(struct manager *m, const char *path, struct fault *reterr);

/* Every path of the module pinned, or none replaceable: the reason, else NULL. */
static int obstacle_find(struct manager *m, int64_t module, may_activate *may, bool *rethas_target,
			 char **retpin, struct fault *retblocked, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	int r = target_paths(m->state, module, &paths, reterr);
	bool free_path = false;

	*rethas_target = r == 0 && *paths;
	for (char **path = paths; r == 0 && !free_path && *path; path++) {
		_clean_(freep) char *pin = NULL;
		struct fault fault = { "" };

		r = pin_get(m->state, *path, &pin, reterr);
		if (r == 1) {
			if (!*retpin)
				*retpin = TAKE(pin);
		} else if (r == 0 && may(m, *path, &fault) < 0) {
			*retblocked = fault;
		} else if (r == 0) {
			free_path = true;
		}
		r = r < 0 ? r : 0;
	}
	if (free_path) {
		free(TAKE(*retpin));
		retblocked->text[0] = '\0';
	}
	return r;
}

/*
 * What was carried over and what others counted make a first edit possible at once; but not once more, when that was found to
 * be too little.
 */
static int others_count(struct manager *m, const struct module_row *module, struct decide_input *in,
			struct fault *reterr)
{
	double priors[PRIOR_SOURCES] = { 0 }, others = 0;
	int64_t made = 0;
	int r = state_integer(m->state, &made, reterr,
			      "SELECT count(*) FROM generation WHERE module = ? AND number > 0", "i",
			      module->id);

	if (r == 0 && settings_has_priors(&m->settings))
		r = priors_get(m->state, module->id, priors, reterr);
	for (int i = 0; i < PRIOR_SOURCES; i++)
		others += priors[i];
	in->others = (uint64_t)MIN(others, SAMPLES_MAX);
	if (r < 0 || made || module->needed)
		return r;
	in->new_others = in->others;
	in->new_samples += in->others + (uint64_t)MIN(module->carried, SAMPLES_MAX);
	return 0;
}

static int verdict(struct manager *m, const struct module_row *module, bool automatic, may_activate *may,
		   const struct machine_load *load, enum decision *ret, char retreason[DECIDE_REASON_MAX],
		   struct fault *reterr)
{
	_clean_(freep) char *pin = NULL, *tuned = NULL;
	char busy[256] = "", full[192];
	struct quota_edits edits = { 0 };
	struct fault blocked = { "" };
	int64_t since_ns = journal_now_ns() - module->edit_ns;
	int64_t sampled_ns = journal_now_ns() - module->last_ns;
	struct decide_input in = { .carries = module->carries == CARRIES_YES,
				   .note = module->note,
				   .condemned = module->condemned,
				   .samples = (uint64_t)module->samples,
				   .new_samples = (uint64_t)MAX(module->samples - module->edit_samples, 0),
				   /* A clock that was set back must not stop edits until it has caught up. */
				   .since_edit_s =
					   !module->edit_ns || since_ns < 0 ? -1 : since_ns / 1000000000,
				   .since_sample_s = sampled_ns < 0 ? -1 : sampled_ns / 1000000000,
				   .needed = (uint64_t)MAX(module->needed, 0),
				   .failures = (uint64_t)module->failures,
				   .is_first = !module->edit_samples,
				   .is_by_others = module->prior_edit >= 0,
				   .free_bytes = machine_free_bytes(m->store) };
	int r = obstacle_find(m, module->id, may, &in.has_target, &pin, &blocked, reterr);

	if (r < 0)
		return r;
	in.pinned = pin;
	r = tuned_get(m, module->id, &tuned, reterr);
	if (r < 0)
		return r;
	in.tuned = tuned;
	if (blocked.text[0]) {
		in.carries = false;
		in.note = blocked.text;
	}
	r = quota_edits(m, module->id, &edits, reterr);
	if (r == 0)
		r = others_count(m, module, &in, reterr);
	if (r < 0)
		return r;
	in.edits_today = edits.all;
	in.edits_of_user = edits.of_user;
	in.edits_of_program = edits.of_program;
	in.is_roots = edits.uid == 0;
	in.store_full = quota_store_full(m, edits.uid, full, sizeof(full)) ? full : NULL;
	in.idle = machine_is_idle(&m->settings, load, busy, sizeof(busy));
	in.busy = busy;
	*ret = decide(&m->settings, &in, automatic, retreason);
	return 0;
}

int verdict_on(struct manager *m, const struct module_row *module, bool automatic, enum decision *ret,
	       char retreason[DECIDE_REASON_MAX], struct fault *reterr)
{
	struct machine_load load;

	machine_load_read(&m->settings, &load);
	load.used_by = m->used_by;
	return verdict(m, module, automatic, activation_may, &load, ret, retreason, reterr);
}

int verdict_remembered(struct manager *m, const struct module_row *module, const struct machine_load *load,
		       enum decision *ret, char retreason[DECIDE_REASON_MAX], struct fault *reterr)
{
	return verdict(m, module, true, allowed_remembered, load, ret, retreason, reterr);
}
