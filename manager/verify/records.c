/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/verify/records.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"
#include "manager/mount/mount_record.h"
#include "manager/verify/records_database.h"

struct record_program *program_records_add(struct program_records *records, const char *path,
					   const char *build_id, int64_t generation)
{
	struct record_program *more = reallocarray(records->programs, records->n_programs + 1, sizeof(*more));
	struct record_program *ret;

	if (!more)
		return NULL;
	records->programs = more;
	ret = &more[records->n_programs];
	*ret = (struct record_program){ .path = strdup(path),
					.build_id = strdup(build_id),
					.generation = generation };
	records->n_programs++;
	return ret->path && ret->build_id ? ret : NULL;
}

int record_program_add(struct record_program *program, int64_t number, const char *build_id,
		       const char *digest, const char *state)
{
	struct record_generation *more =
		reallocarray(program->generations, program->n_generations + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	program->generations = more;
	more += program->n_generations++;
	*more = (struct record_generation){ number, strdup(build_id), strdup(digest), strdup(state) };
	return more->build_id && more->digest && more->state ? 0 : -ENOMEM;
}

void program_records_done(struct program_records *records)
{
	for (size_t i = 0; i < records->n_programs; i++) {
		struct record_program *p = &records->programs[i];

		for (size_t k = 0; k < p->n_generations; k++) {
			free(p->generations[k].build_id);
			free(p->generations[k].digest);
			free(p->generations[k].state);
		}
		free(p->generations);
		free(p->path);
		free(p->build_id);
	}
	free(records->programs);
	*records = (struct program_records){ 0 };
}

const struct record_program *program_records_find(const struct program_records *records, const char *path)
{
	for (size_t i = 0; i < records->n_programs; i++)
		if (strcmp(records->programs[i].path, path) == 0)
			return &records->programs[i];
	return NULL;
}

const struct record_generation *record_generation_find(const struct record_program *program, int64_t number)
{
	for (size_t i = 0; i < program->n_generations; i++)
		if (program->generations[i].number == number)
			return &program->generations[i];
	return NULL;
}

const struct record_generation *record_generation_by_digest(const struct record_program *program,
							    const char *digest)
{
	for (size_t i = 0; i < program->n_generations; i++)
		if (strcmp(program->generations[i].digest, digest) == 0)
			return &program->generations[i];
	return NULL;
}

/* ---- state.db ---- */

static int generations_load(sqlite3 *db, int64_t module, struct record_program *program)
{
	sqlite3_stmt *row = NULL;
	int r = sqlite3_prepare_v2(db,
				   "SELECT number, build_id, digest, state FROM generation WHERE module = ? "
				   "ORDER BY number",
				   -1, &row, NULL);

	if (r == SQLITE_OK)
		r = sqlite3_bind_int64(row, 1, module);
	while (r == SQLITE_OK && (r = sqlite3_step(row)) == SQLITE_ROW)
		r = record_program_add(program, sqlite3_column_int64(row, 0), record_column(row, 1),
				       record_column(row, 2), record_column(row, 3)) < 0 ?
			    SQLITE_NOMEM :
			    SQLITE_OK;
	sqlite3_finalize(row);
	return r;
}

static int programs_load(sqlite3 *db, struct program_records *ret)
{
	sqlite3_stmt *row = NULL;
	int r = sqlite3_prepare_v2(db,
				   "SELECT t.path, m.key, t.generation, m.id FROM target t JOIN module m ON "
				   "m.id = t.module ORDER BY t.path",
				   -1, &row, NULL);

	while (r == SQLITE_OK && (r = sqlite3_step(row)) == SQLITE_ROW) {
		struct record_program *program = program_records_add(
			ret, record_column(row, 0), record_column(row, 1), sqlite3_column_int64(row, 2));

		r = program ? generations_load(db, sqlite3_column_int64(row, 3), program) : SQLITE_NOMEM;
		r = r == SQLITE_DONE ? SQLITE_OK : r;
	}
	sqlite3_finalize(row);
	return r;
}

int program_records_load(const char *state_directory, struct program_records *ret, struct fault *reterr)
{
	struct program_records records = { 0 };
	char path[PATH_MAX];
	sqlite3 *db = NULL;
	int r = records_database_open(state_directory, path, &db, reterr);

	if (r < 0)
		return r;
	r = programs_load(db, &records);
	if (r != SQLITE_DONE) {
		r = fault_set(reterr, -EUCLEAN, "%s: %s", path, sqlite3_errmsg(db));
		program_records_done(&records);
	} else {
		r = 0;
		*ret = records;
	}
	sqlite3_close_v2(db);
	return r;
}

/* ---- the store against it ---- */

struct comparison {
	const char *store, *mounts;
	const struct program_records *records;
	void (*say)(void *userdata, const char *sentence);
	void *userdata;
	int n;
};

static void _printf_(2, 3) say(struct comparison *c, const char *fmt, ...)
{
	char text[sizeof(((struct fault *)0)->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->n++;
	c->say(c->userdata, text);
}

static const struct record_program *program_of(const struct comparison *c, const char *build_id)
{
	for (size_t i = 0; i < c->records->n_programs; i++)
		if (strcmp(c->records->programs[i].build_id, build_id) == 0)
			return &c->records->programs[i];
	return NULL;
}

/* Bytes in the store against the digest beside them, and both against the row. */
static void file_compare(struct comparison *c, const char *build_id, int64_t number, const char *path,
			 const char *digest)
{
	const struct record_program *program = program_of(c, build_id);
	const struct record_generation *row = program ? record_generation_find(program, number) : NULL;
	struct fault fault = { "" };

	if (store_check_file(path, digest, &fault) < 0)
		say(c, "the store: %s", fault.text);
	if (program && !row)
		say(c, "the store: %s: state.db knows no generation %lld of %s", path, (long long)number,
		    program->path);
	else if (row && row->digest[0] && strcmp(row->digest, digest) != 0)
		say(c, "the store: %s: its description says %.16s..., state.db %.16s...", path, digest,
		    row->digest);
}

static int on_module(void *userdata, const struct store_module *module)
{
	struct comparison *c = userdata;
	char path[PATH_MAX];

	file_compare(c, module->build_id, 0, store_path(c->store, module->build_id, "original", path),
		     module->digest);
	return 0;
}

static int on_generation(void *userdata, const char *build_id, const struct store_generation *g)
{
	struct comparison *c = userdata;
	char path[PATH_MAX];

	file_compare(c, build_id, (int64_t)g->number,
		     store_generation_path(c->store, build_id, (int64_t)g->number, "binary", path),
		     g->digest);
	return 0;
}

static int on_target(_unused_ void *userdata, _unused_ const char *build_id,
		     _unused_ const struct store_target *target)
{
	return 0; /* kept until its module goes: old ones are no disagreement */
}

static void on_damaged(void *userdata, const char *path, const struct fault *why)
{
	say(userdata, "the store: %s: %s", path, why->text);
}

static int on_mount(void *userdata, const struct mount_record *record)
{
	struct comparison *c = userdata;
	const struct record_program *program = program_records_find(c->records, record->path);
	const struct record_generation *row =
		program ? record_generation_find(program, (int64_t)record->number) : NULL;

	if (!program || strcmp(program->build_id, record->build_id) != 0)
		say(c, "a mount is on record for %s, which state.db knows as another program", record->path);
	else if (!row || strcmp(row->digest, record->digest) != 0)
		say(c, "the mount on record for %s is not generation %llu as state.db knows it", record->path,
		    (unsigned long long)record->number);
	return 0;
}

static void on_damaged_mount(void *userdata, const struct fault *why)
{
	say(userdata, "%s", why->text);
}

/* Rows whose files are gone. */
static void rows_compare(struct comparison *c)
{
	for (size_t i = 0; i < c->records->n_programs; i++) {
		const struct record_program *p = &c->records->programs[i];

		for (size_t k = 0; k < p->n_generations; k++) {
			const struct record_generation *g = &p->generations[k];
			char path[PATH_MAX];

			if (!g->digest[0] || strcmp(g->state, "dropped") == 0)
				continue;
			if (g->number == 0 &&
			    p->n_generations == 1) /* the shipped file is kept before its first edit */
				continue;
			if (g->number)
				store_generation_path(c->store, p->build_id, g->number, "binary", path);
			else
				store_path(c->store, p->build_id, "original", path);
			if (access(path, F_OK) < 0 && errno == ENOENT)
				say(c,
				    "state.db has generation %lld of %s, and the store has not got its file "
				    "%s",
				    (long long)g->number, p->path, path);
		}
	}
}

int program_records_differences(const char *state_directory, const struct program_records *records,
				void (*say_one)(void *userdata, const char *sentence), void *userdata,
				struct fault *reterr)
{
	char store[PATH_MAX], mounts[PATH_MAX];
	struct comparison c = { path_join(state_directory, "store", store),
				path_join(state_directory, "mounts", mounts),
				records,
				say_one,
				userdata,
				0 };
	struct store_visitor visitor = { on_module, on_generation, on_target, on_damaged, &c };
	int r;

	if (access(store, R_OK) < 0)
		return fault_errno(reterr, -errno, "%s", store);
	r = store_walk(store, &visitor, reterr);
	if (r == 0)
		r = mount_record_walk(mounts, on_mount, on_damaged_mount, &c, reterr);
	if (r == 0)
		rows_compare(&c);
	return r < 0 ? r : c.n;
}
