/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/act/tuned.h"

#include "manager/keep/journal.h"

int tuned_note(struct manager *m, int64_t module, int64_t number, const char *text, struct fault *reterr)
{
	return state_do(
		m->state, reterr,
		"INSERT OR REPLACE INTO tuned(module, generation, cpu, text, time_ns) VALUES(?, ?, ?, ?, ?)",
		"iitti", module, number, m->cpu, text, journal_now_ns());
}

int tuned_get(struct manager *m, int64_t module, char **ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(m->state, &statement, reterr,
			      "SELECT text FROM tuned WHERE module = ? AND cpu = ?", "it", module, m->cpu);

	if (r == 0)
		r = state_step(m->state, statement, reterr);
	if (r == 1)
		*ret = statement_text(statement, 0);
	return r;
}

int tuned_forget(struct manager *m, int64_t module, struct fault *reterr)
{
	return state_do(m->state, reterr, "DELETE FROM tuned WHERE module = ?", "i", module);
}
