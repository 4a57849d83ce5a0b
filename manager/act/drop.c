/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/act/drop.h"

#include <unistd.h>

#include "base/log.h"
#include "manager/keep/catalog.h"
#include "manager/keep/journal.h"
#include "manager/keep/store.h"
#include "manager/program/sidecars.h"

/* The rows of it: all of that, or nothing. */
static int rows_drop(struct manager *m, int64_t id, int64_t owner, int64_t number, struct fault *reterr)
{
	int r = state_begin(m->state, reterr);

	if (r == 0)
		r = generation_set_state(m->state, id, "dropped", "to make room", reterr);
	if (r == 0)
		r = state_do(m->state, reterr, "DELETE FROM sample WHERE generation = ?", "i", id);
	if (r == 0)
		r = journal_event(m->state, owner, NULL, EVENT_DROPPED, reterr,
				  "generation %lld was deleted to make room", (long long)number);
	if (r == 0)
		r = state_commit(m->state, reterr);
	state_undo(m->state);
	return r;
}

int drop_generation(struct manager *m, int64_t id, struct fault *reterr)
{
	struct module_row module = { 0 };
	int64_t number = 0, owner = 0;
	int r = state_integer(m->state, &number, reterr, "SELECT number FROM generation WHERE id = ?", "i",
			      id);

	if (r == 0)
		r = state_integer(m->state, &owner, reterr, "SELECT module FROM generation WHERE id = ?", "i",
				  id);
	if (r == 0)
		r = module_get(m->state, owner, &module, reterr);
	/* First the rows: files without a row go at the next start (rebuild.h), a row without files never would. */
	if (r == 0)
		r = rows_drop(m, id, owner, number, reterr);
	if (r == 0)
		r = store_drop_generation(m->store, module.key, number, reterr);
	module_row_done(&module);
	return r;
}

/* The sidecar that was fetched for a build. */
static void fetched_drop(const struct manager *m, const char *build_id)
{
	char directory[PATH_MAX], path[PATH_MAX];

	if (sidecars_fetched(&m->settings, directory) && sidecars_file(directory, build_id, path))
		unlink(path);
}

int drop_module(struct manager *m, int64_t id, struct fault *reterr)
{
	struct module_row module = { 0 };
	int r = module_get(m->state, id, &module, reterr);

	/* First the store: a row without files is deleted next time, files without a row never. */
	if (r == 0)
		r = store_drop_module(m->store, module.key, reterr);
	if (r == 0)
		fetched_drop(m, module.key);
	if (r == 0)
		r = state_do(m->state, reterr, "DELETE FROM module WHERE id = ?", "i", id);
	if (r == 0)
		log_debug("%s: build %s was forgotten", module.path, module.key);
	module_row_done(&module);
	return r;
}
