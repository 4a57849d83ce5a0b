/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/act/automatic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "manager/act/quiet.h"
#include "manager/act/verdict.h"
#include "manager/act/wish.h"
#include "manager/keep/journal.h"

static int verdict_note(struct manager *m, const struct module_row *module, const char *reason,
			struct fault *reterr)
{
	if (module->verdict && strcmp(module->verdict, reason) == 0)
		return 0;
	return state_do(m->state, reterr, "UPDATE module SET verdict = ?, verdict_ns = ? WHERE id = ?", "tii",
			reason, journal_now_ns(), module->id);
}

/* All that may be edited, the one with the most new samples first, of those without any what others use most; ends with 0; owned by the caller. */
static int candidates(struct manager *m, int64_t **ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *rows = NULL;
	_clean_(freep) int64_t *ids = NULL;
	int64_t n = 0, i = 0;
	int r = state_integer(m->state, &n, reterr, "SELECT count(*) FROM module WHERE carries = 1", "");

	if (r == 0 && !(ids = calloc((size_t)n + 1, sizeof(*ids))))
		r = fault_errno(reterr, -ENOMEM, "candidates");
	if (r == 0)
		r = state_prepare(
			m->state, &rows, reterr,
			"SELECT id FROM module m WHERE carries = 1 ORDER BY samples - edit_samples DESC, "
			"(SELECT sum(samples) FROM prior WHERE module = m.id AND m.edit_ns = 0) DESC, id",
			"");
	while (r == 0 && i < n && (r = state_step(m->state, rows, reterr)) == 1) {
		ids[i++] = sqlite3_column_int64(rows, 0);
		r = 0;
	}
	if (r == 0)
		*ret = TAKE(ids);
	return r;
}

static void on_quiet(struct manager *m)
{
	struct fault fault = { "" };
	int r = automatic_edits(m, m->queue, &fault);

	if (r < 0)
		manager_log_fault(m, r, &fault);
}

/* What there is to do after all verdicts. */
struct plan {
	int64_t *ready; /* may be edited; as candidates() */
	size_t n_ready;
	char *burst; /* path of what is to be sampled faster for seconds, or NULL; owned */
};

static int judge(struct manager *m, const struct queue *queue, int64_t id, const struct machine_load *load,
		 struct plan *plan, struct fault *reterr)
{
	struct module_row module = { 0 };
	char reason[DECIDE_REASON_MAX], busy[DECIDE_REASON_MAX];
	enum decision verdict = DECIDE_WAIT;
	int quiet = QUIET_LATER, r = module_get(m->state, id, &module, reterr);

	if (r == 0)
		r = verdict_remembered(m, &module, load, &verdict, reason, reterr);
	/* All averages say that it may be edited; what is going on right now is looked at last. */
	if (r == 0 && verdict == DECIDE_EDIT && queue_is_idle(queue))
		quiet = quiet_ask(m, on_quiet, busy, sizeof(busy), reterr);
	if (quiet == QUIET_NO)
		memcpy(reason, busy, sizeof(busy));
	if (quiet == QUIET_YES)
		plan->ready[plan->n_ready++] = id;
	if (r == 0)
		r = quiet < 0 ? quiet : verdict_note(m, &module, reason, reterr);
	if (r == 0 && verdict == DECIDE_SAMPLE && !plan->burst && !(plan->burst = strdup(module.path)))
		r = fault_errno(reterr, -ENOMEM, "%s", module.path);
	module_row_done(&module);
	return r;
}

/* All in one transaction: a lock for each question of each program takes longer than the questions. */
static int judge_all(struct manager *m, const struct queue *queue, int64_t *ids, struct plan *plan,
		     struct fault *reterr)
{
	struct machine_load load;
	int r = state_begin(m->state, reterr);

	machine_load_read(&m->settings, &load);
	load.used_by = m->used_by;
	plan->ready = ids; /* those that were looked at are not needed any more */
	for (const int64_t *id = ids; r == 0 && *id; id++)
		if (*id != queue_module(queue))
			r = judge(m, queue, *id, &load, plan, reterr);
	if (r == 0)
		r = state_commit(m->state, reterr);
	state_undo(m->state);
	return r;
}

static int edit_begin(struct queue *queue, int64_t module, const char *reason, struct fault *reterr)
{
	const struct edit_request request = { .module = module, .reason = reason };
	int r = queue_add(queue, &request, NULL, NULL, reterr);

	queue_run(queue);
	return r;
}

/* One edit at a time. What was remembered is asked again. Return: 1: it has begun; 0: it must not; -errno */
static int try_to_edit(struct manager *m, struct queue *queue, int64_t id, struct fault *reterr)
{
	struct module_row module = { 0 };
	char reason[DECIDE_REASON_MAX];
	enum decision verdict = DECIDE_WAIT;
	int r = module_get(m->state, id, &module, reterr);

	if (r == 0)
		r = verdict_on(m, &module, true, &verdict, reason, reterr);
	if (r == 0)
		r = verdict_note(m, &module, reason, reterr);
	if (r == 0 && verdict == DECIDE_EDIT) {
		r = edit_begin(queue, id, reason, reterr);
		r = r < 0 ? r : 1;
	}
	module_row_done(&module);
	return r;
}

int automatic_edits(struct manager *m, struct queue *queue, struct fault *reterr)
{
	_clean_(freep) int64_t *ids = NULL;
	struct plan plan = { 0 };
	int r = candidates(m, &ids, reterr);

	if (r == 0)
		r = judge_all(m, queue, ids, &plan, reterr);
	if (r == 0 && plan.burst)
		r = wish_burst(m, plan.burst, reterr);
	for (size_t i = 0; r == 0 && i < plan.n_ready; i++)
		r = try_to_edit(m, queue, plan.ready[i], reterr);
	free(plan.burst);
	return MIN(r, 0);
}
