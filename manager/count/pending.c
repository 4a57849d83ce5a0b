/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/count/pending.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "manager/count/tally.h"
#include "manager/keep/journal.h"

void pending_key(const struct file_identity *file, char ret[PENDING_KEY_MAX])
{
	snprintf(ret, PENDING_KEY_MAX, "file:%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64, file->device,
		 file->inode, file->changed_ns, file->size);
}

/* A place for this file: what was not seen for long goes, then what its own users saw longest ago. */
static int place_make(struct state *state, int64_t module, const struct sample_module *from,
		      struct fault *reterr)
{
	int64_t now = journal_now_ns(), user = tally_user(from->user);
	int r = state_do(state, reterr, "DELETE FROM pending_file WHERE last_ns < ?", "i",
			 now - PENDING_KEPT_NS);

	if (r == 0)
		r = state_do(
			state, reterr,
			"INSERT INTO pending_file(module, device, inode, changed_ns, size, user, last_ns) "
			"VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET last_ns = excluded.last_ns",
			"iiiiiii", module, (int64_t)from->file.device, (int64_t)from->file.inode,
			(int64_t)from->file.changed_ns, (int64_t)from->file.size, user, now);
	return r < 0 ? r :
		       state_do(state, reterr,
				"DELETE FROM pending_file WHERE user = ?1 AND module <> ?2 AND module NOT IN "
				"(SELECT module "
				"FROM pending_file WHERE user = ?1 ORDER BY last_ns DESC, module DESC LIMIT "
				"?3)",
				"iii", user, module, (int64_t)PENDING_FILES);
}

int pending_add(struct state *state, int64_t module, const struct sample_module *from, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int64_t n = 0;
	int r = place_make(state, module, from, reterr);

	if (r == 0)
		r = state_integer(state, &n, reterr, "SELECT count(*) FROM pending_sample WHERE module = ?",
				  "i", module);
	if (r < 0 || n + (int64_t)(from->n_counts + from->n_branches) > PENDING_COUNTS)
		return r;
	r = state_prepare(
		state, &statement, reterr,
		"INSERT INTO pending_sample(module, user, offset, target, weight) VALUES(?, ?, ?, ?, ?) "
		"ON CONFLICT DO UPDATE SET weight = weight + excluded.weight",
		"ii", module, (int64_t)tally_user(from->user));
	return r < 0 ? r : tally_enter(state, statement, 3, from, 1, reterr);
}

static int adopt_one(struct state *state, int64_t module, int64_t generation, uint64_t half_life_s,
		     struct fault *reterr)
{
	struct module_row owner = { 0 };
	int64_t owner_id = 0;
	int r = state_integer(state, &owner_id, reterr, "SELECT module FROM generation WHERE id = ?", "i",
			      generation);

	if (r == 0)
		r = module_get(state, owner_id, &owner, reterr);
	if (r == 0)
		r = state_do(state, reterr,
			     "INSERT INTO sample(generation, user, offset, target, weight) SELECT ?, user, "
			     "offset, target, "
			     "weight * ? FROM pending_sample WHERE module = ? "
			     "ON CONFLICT DO UPDATE SET weight = weight + excluded.weight",
			     "idi", generation, tally_weight(&owner, half_life_s), module);
	if (r == 0)
		r = state_do(state, reterr,
			     "UPDATE generation SET source = CASE source WHEN 0 THEN ? ELSE source END, "
			     "samples = samples + "
			     "(SELECT samples FROM module WHERE id = ?) WHERE id = ?",
			     "iii", (int64_t)SAMPLE_SOURCE_TICK, module, generation);
	if (r == 0)
		r = state_do(state, reterr,
			     "UPDATE module SET last_ns = max(last_ns, (SELECT last_ns FROM module WHERE id "
			     "= ?1)), samples = "
			     "samples + (SELECT samples FROM module WHERE id = ?1) WHERE id = ?2",
			     "ii", module, owner_id);
	if (r == 0)
		r = state_do(state, reterr, "DELETE FROM module WHERE id = ?", "i", module);
	if (r == 0)
		r = journal_event(state, owner_id, NULL, EVENT_SEEN, reterr,
				  "what was sampled of the file before it was known now counts");
	module_row_done(&owner);
	return r;
}

static int next(struct state *state, int64_t *retmodule, int64_t *retgeneration, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(
		state, &statement, reterr,
		"SELECT p.module, v.generation FROM pending_file p JOIN verified_file v ON v.device = "
		"p.device "
		"AND v.inode = p.inode AND v.changed_ns = p.changed_ns AND v.size = p.size LIMIT 1",
		"");

	if (r == 0)
		r = state_step(state, statement, reterr);
	if (r != 1)
		return r;
	*retmodule = sqlite3_column_int64(statement, 0);
	*retgeneration = sqlite3_column_int64(statement, 1);
	return 1;
}

int pending_adopt(struct state *state, uint64_t half_life_s, unsigned *retn, struct fault *reterr)
{
	int64_t module, generation;
	int r = 0;

	for (*retn = 0; r == 0; ++*retn) {
		r = next(state, &module, &generation, reterr);
		if (r <= 0)
			return r;
		r = state_begin(state, reterr);
		if (r < 0)
			return r;
		r = adopt_one(state, module, generation, half_life_s, reterr);
		if (r == 0)
			r = state_commit(state, reterr);
		state_undo(state);
	}
	return r;
}
