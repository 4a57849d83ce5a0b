/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/verdict.h"

#include <stdlib.h>

#include "manager/act/activation.h"
#include "manager/decide/machine.h"
#include "manager/keep/journal.h"

#define DAY_NS (86400ll * 1000000000)

/* Every path of the module pinned, or none replaceable: the reason, else NULL. */
static int obstacle_find(struct manager *m, int64_t module, bool *rethas_target, char **retpin,
			 struct fault *retblocked, struct fault *reterr)
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
		} else if (r == 0 && activation_may(m, *path, &fault) < 0) {
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

/* A clock that was set back finds edits of the future; they do not count, or there would be none until then. */
static int edits_count(struct manager *m, uint64_t *ret, struct fault *reterr)
{
	int64_t now = journal_now_ns(), n = 0;
	int r = state_integer(
		m->state, &n, reterr,
		"SELECT count(*) FROM decision WHERE trigger = 'automatic' AND time_ns > ? AND time_ns "
		"<= ?",
		"ii", now - DAY_NS, now);

	*ret = (uint64_t)n;
	return r;
}

int verdict_on(struct manager *m, const struct module_row *module, bool automatic, enum decision *ret,
	       char retreason[DECIDE_REASON_MAX], struct fault *reterr)
{
	_clean_(freep) char *pin = NULL;
	char busy[256] = "";
	struct machine_load load;
	struct fault blocked = { "" };
	int64_t since_ns = journal_now_ns() - module->edit_ns;
	int64_t sampled_ns = journal_now_ns() - module->last_ns;
	/* What was carried over makes a first edit possible at once. */
	double carried = module->edit_ns ? 0 : module->carried;
	struct decide_input in = { .carries = module->carries == CARRIES_YES,
				   .note = module->note,
				   .condemned = module->condemned,
				   .samples = (uint64_t)module->samples,
				   .new_samples = (uint64_t)MAX(module->samples - module->edit_samples, 0) +
						  (uint64_t)MIN(carried, 1e15),
				   /* A clock that was set back must not stop edits until it has caught up. */
				   .since_edit_s =
					   !module->edit_ns || since_ns < 0 ? -1 : since_ns / 1000000000,
				   .since_sample_s = sampled_ns < 0 ? -1 : sampled_ns / 1000000000,
				   .needed = (uint64_t)MAX(module->needed, 0),
				   .failures = (uint64_t)module->failures,
				   .free_bytes = machine_free_bytes(m->store) };
	int r = obstacle_find(m, module->id, &in.has_target, &pin, &blocked, reterr);

	if (r < 0)
		return r;
	in.pinned = pin;
	if (blocked.text[0]) {
		in.carries = false;
		in.note = blocked.text;
	}
	r = edits_count(m, &in.edits_today, reterr);
	if (r < 0)
		return r;
	machine_load_read(&m->settings, &load);
	in.idle = machine_is_idle(&m->settings, &load, busy, sizeof(busy));
	in.busy = busy;
	*ret = decide(&m->settings, &in, automatic, retreason);
	return 0;
}
