/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/rebuild.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "manager/keep/journal.h"
#include "manager/keep/store.h"
#include "manager/program/carryover.h"
#include "manager/program/installed.h"
#include "profiles/samples/sample_log.h"

struct rebuild {
	struct manager *manager;
	struct fault *reterr;
	unsigned n_modules;
};

static int on_module(void *userdata, const struct store_module *from)
{
	struct rebuild *b = userdata;
	struct state *state = b->manager->state;
	struct generation_row shipped = { .build_id = from->build_id,
					  .digest = from->digest,
					  .state = (char *)"shipped",
					  .size = (int64_t)from->size,
					  .created_ns = (int64_t)from->first_ns };
	struct module_row known = { 0 };
	int r = module_get_by_key(state, from->build_id, &known, b->reterr);

	module_row_done(&known);
	if (r != -ENOENT)
		return r;
	r = module_add(state, from->build_id, SAMPLE_MODULE_FILE, "", &shipped.module, b->reterr);
	if (r == 0)
		r = module_set_carries(state, shipped.module, CARRIES_YES, NULL, from->llvm_version,
				       b->reterr);
	if (r == 0)
		r = carryover_recall(b->manager, shipped.module, from->build_id, b->reterr);
	if (r == 0)
		r = generation_add(state, &shipped, NULL, b->reterr);
	b->n_modules++;
	return r;
}

static int on_generation(void *userdata, const char *build_id, const struct store_generation *from)
{
	struct rebuild *b = userdata;
	struct state *state = b->manager->state;
	struct generation_row row = { .number = (int64_t)from->number,
				      .build_id = from->build_id,
				      .digest = from->digest,
				      .state = from->state,
				      .cpu = from->cpu,
				      .llvm_version = from->llvm_version,
				      .reason = from->reason,
				      .size = (int64_t)from->size,
				      .created_ns = (int64_t)from->created_ns,
				      .gain = from->gain,
				      .gain_is_known = from->gain != 0,
				      .cost_s = from->cost_s,
				      .profile_samples = from->profile_samples };
	struct generation_row known = { 0 };
	struct module_row module = { 0 };
	int r = module_get_by_key(state, build_id, &module, b->reterr);

	if (r == 0)
		r = generation_get_by_build_id(state, from->build_id, &known, b->reterr);
	row.module = module.id;
	if (r == -ENOENT && module.id)
		r = generation_add(state, &row, NULL, b->reterr);
	if (r == 0 && strcmp(from->state, "condemned") == 0)
		r = state_do(state, b->reterr,
			     "UPDATE module SET condemned = ?, condemned_ns = ? WHERE id = ?", "tii",
			     from->reason ? from->reason : "condemned", journal_now_ns(), module.id);
	generation_row_done(&known);
	module_row_done(&module);
	return r;
}

/* The same for a database that is not empty. */
static int on_generation_kept(void *userdata, const char *build_id, const struct store_generation *from)
{
	struct rebuild *b = userdata;
	struct state *state = b->manager->state;
	struct generation_row row = { 0 };
	struct module_row module = { 0 };
	int r = module_get_by_key(state, build_id, &module, b->reterr);

	if (r == 0)
		r = generation_get(state, module.id, (int64_t)from->number, &row, b->reterr);
	if (r == 0 && strcmp(row.state, "dropped") == 0)
		r = store_drop_generation(b->manager->store, build_id, (int64_t)from->number, b->reterr);
	else if (r == -ENOENT)
		r = module.id ? on_generation(userdata, build_id, from) : 0;
	generation_row_done(&row);
	module_row_done(&module);
	return r;
}

static int on_target(void *userdata, const char *build_id, const struct store_target *from)
{
	struct rebuild *b = userdata;
	struct state *state = b->manager->state;
	/* Generation -1: whichever installed_refresh() will find. */
	struct target_row row = { .path = from->path,
				  .generation = -1,
				  .uid = (int64_t)from->uid,
				  .gid = (int64_t)from->gid,
				  .mode = (int64_t)from->mode,
				  .mtime_ns = (int64_t)from->mtime_ns };
	struct module_row module = { 0 };
	int r = module_get_by_key(state, build_id, &module, b->reterr);

	row.module = module.id;
	if (r == 0)
		r = target_put(state, &row, b->reterr);
	if (r == 0)
		r = state_do(state, b->reterr, "UPDATE module SET path = ? WHERE id = ?", "ti", from->path,
			     module.id);
	module_row_done(&module);
	return r;
}

/* Not where the database knows better: a path that is another module's now. */
static int on_target_kept(void *userdata, const char *build_id, const struct store_target *from)
{
	struct rebuild *b = userdata;

	return target_exists(b->manager->state, from->path) ? 0 : on_target(userdata, build_id, from);
}

static void on_damaged(_unused_ void *userdata, const char *path, const struct fault *why)
{
	log_warning("%s: left out: %s", path, why->text);
}

static int walk_in_transaction(struct rebuild *b, const struct store_visitor *visitor)
{
	struct state *state = b->manager->state;
	int r = state_begin(state, b->reterr);

	if (r == 0)
		r = store_walk(b->manager->store, visitor, b->reterr);
	if (r == 0)
		r = state_commit(state, b->reterr);
	state_undo(state);
	return r;
}

int rebuild_agree(struct manager *m, struct fault *reterr)
{
	struct rebuild b = { .manager = m, .reterr = reterr };
	struct store_visitor visitor = { on_module, on_generation_kept, on_target_kept, on_damaged, &b };

	int r = walk_in_transaction(&b, &visitor);

	if (r == 0 && b.n_modules)
		log_warning(
			"the database did not know %u programs that are in the store (restored from an older "
			"backup?); they were entered",
			b.n_modules);
	return r;
}

int rebuild_missing(struct manager *m, unsigned *retn, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *rows = NULL;
	char path[PATH_MAX];
	int r = state_prepare(
		m->state, &rows, reterr,
		"SELECT t.path, m.key FROM target t JOIN module m ON m.id = t.module WHERE t.generation "
		"<> 0 ORDER BY t.path",
		"");

	*retn = 0;
	while (r == 0 && (r = state_step(m->state, rows, reterr)) == 1) {
		r = 0;
		store_path(m->store, (const char *)sqlite3_column_text(rows, 1), "original", path);
		if (access(path, R_OK) == 0)
			continue;
		log_error("%s: runs a generation, and the store lacks its shipped file, so it cannot be put "
			  "back: restore "
			  "%s, or reinstall its package",
			  sqlite3_column_text(rows, 0), m->store);
		++*retn;
	}
	return r;
}

int rebuild_from_store(struct manager *m, unsigned *retn, struct fault *reterr)
{
	struct rebuild b = { .manager = m, .reterr = reterr };
	struct store_visitor visitor = { on_module, on_generation, on_target, on_damaged, &b };
	int r = walk_in_transaction(&b, &visitor);

	*retn = b.n_modules;
	/* Inode and change time are not known, so every path is looked at. */
	return r < 0 ? r : installed_refresh(m, reterr);
}
