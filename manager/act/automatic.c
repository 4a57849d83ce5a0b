/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/act/automatic.h"

#include <errno.h>
#include <string.h>

#include "manager/act/verdict.h"
#include "manager/act/watch.h"
#include "manager/keep/journal.h"

static int verdict_note(struct manager *m, const struct module_row *module, const char *reason,
			struct fault *reterr)
{
	if (module->verdict && strcmp(module->verdict, reason) == 0)
		return 0;
	return state_do(m->state, reterr, "UPDATE module SET verdict = ?, verdict_ns = ? WHERE id = ?", "tii",
			reason, journal_now_ns(), module->id);
}

/* The candidate with the most new samples goes first. Its ID, 0 for none, or negative. */
static int64_t candidate_at(struct manager *m, unsigned i, struct fault *reterr)
{
	int64_t id;
	int r = state_integer(m->state, &id, reterr,
			      "SELECT id FROM module WHERE carries = 1 ORDER BY samples - edit_samples DESC, "
			      "id LIMIT 1 OFFSET ?",
			      "i", (int64_t)i);

	return r == -ENOENT ? 0 : r < 0 ? r : id;
}

int automatic_edits(struct manager *m, struct queue *queue, struct fault *reterr)
{
	bool has_burst = false, has_tried = false;

	for (unsigned i = 0;; i++) {
		struct module_row module = { 0 };
		char reason[DECIDE_REASON_MAX];
		int64_t id = candidate_at(m, i, reterr);
		enum decision verdict = DECIDE_WAIT;
		int r = id <= 0 ? (int)id : 0;

		if (id <= 0)
			return r;
		if (id == queue_module(queue))
			continue;
		r = module_get(m->state, id, &module, reterr);
		if (r == 0)
			r = verdict_on(m, &module, true, &verdict, reason, reterr);
		if (r == 0)
			r = verdict_note(m, &module, reason, reterr);
		if (r == 0 && verdict == DECIDE_SAMPLE && !has_burst) {
			r = watch_burst(m, module.path, reterr);
			has_burst = true;
		}
		module_row_done(&module);
		if (r == 0 && verdict == DECIDE_EDIT && !has_tried && queue_is_idle(queue)) {
			has_tried = true;
			r = queue_add(queue, &(struct edit_request){ .module = id, .reason = reason }, NULL,
				      NULL, reterr);
			queue_run(queue);
		}
		if (r < 0)
			return r;
	}
}
