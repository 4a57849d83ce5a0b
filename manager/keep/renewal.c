/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/keep/renewal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/log.h"
#include "manager/keep/digest.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"

static void on_damaged(_unused_ void *userdata, const char *path, const struct fault *why)
{
	log_warning("%s: not trusted: %s", path, why->text);
}

int renewal_store(struct manager *m, struct fault *reterr)
{
	return store_renew(m->store, on_damaged, NULL, reterr);
}

struct old_row {
	int64_t id, number;
	char *key, *digest;
};

static void old_row_done(struct old_row *row)
{
	free(row->key);
	free(row->digest);
}

/* The next one beyond @after; 1 when there is one. */
static int old_row_get(struct manager *m, int64_t after, struct old_row *ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(
		m->state, &statement, reterr,
		"SELECT g.id, g.number, m.key, g.digest FROM generation g JOIN module m ON m.id = g.module "
		"WHERE length(g.digest) = 32 AND g.id > ? AND g.state <> 'dropped' ORDER BY g.id LIMIT 1",
		"i", after);

	if (r == 0)
		r = state_step(m->state, statement, reterr);
	if (r != 1)
		return r;
	*ret = (struct old_row){ sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
				 statement_text(statement, 2), statement_text(statement, 3) };
	return ret->key && ret->digest ? 1 : fault_errno(reterr, -ENOMEM, "generations");
}

static int row_renew(struct manager *m, const struct old_row *row, struct fault *reterr)
{
	char path[PATH_MAX], renewed[DIGEST_TEXT];
	_clean_(fd_closep) int fd = -1;
	struct fault why = { "" };
	int r;

	if (row->number)
		store_generation_path(m->store, row->key, row->number, "binary", path);
	else
		store_path(m->store, row->key, "original", path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	r = fd < 0 ? fault_errno(&why, -errno, "%s", path) :
		     digest_renew(fd, path, row->digest, renewed, &why);
	if (r < 0) {
		log_warning("%s; its digest stays the old one", why.text);
		return 0;
	}
	return state_do(m->state, reterr, "UPDATE generation SET digest = ? WHERE id = ?", "ti", renewed,
			row->id);
}

static int generations_renew(struct manager *m, struct fault *reterr)
{
	int64_t after = 0;

	for (;;) {
		_clean_(old_row_done) struct old_row row = { 0 };
		int r = old_row_get(m, after, &row, reterr);

		if (r == 1)
			r = row_renew(m, &row, reterr) < 0 ? -EIO : 1;
		if (r <= 0)
			return r;
		after = row.id;
	}
}

/* A spool file that was counted by the old morphd, which was stopped before it deleted it. */
static int spool_file_renew(struct manager *m, int dir_fd, const char *name, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	_clean_(fd_closep) int fd = -1;
	char renewed[DIGEST_TEXT];
	int r = state_prepare(m->state, &statement, reterr,
			      "SELECT serial, digest FROM spool_file WHERE name = ? AND length(digest) = 32",
			      "t", name);

	while (r == 0 && (r = state_step(m->state, statement, reterr)) == 1) {
		if (fd < 0)
			fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		r = fd < 0 ? -1 :
			     digest_renew(fd, name, (const char *)sqlite3_column_text(statement, 1), renewed,
					  NULL);
		if (r == 0)
			return state_do(m->state, reterr,
					"UPDATE OR IGNORE spool_file SET digest = ? WHERE serial = ?", "ti",
					renewed, sqlite3_column_int64(statement, 0));
		r = 0;
	}
	return r;
}

static int spool_renew(struct manager *m, struct fault *reterr)
{
	DIR *dir = opendir(m->spool);
	struct dirent *entry;
	int r = 0;

	while (dir && r == 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && entry->d_type != DT_DIR)
			r = spool_file_renew(m, dirfd(dir), entry->d_name, reterr);
	if (dir)
		closedir(dir);
	return r;
}

int renewal_rows(struct manager *m, struct fault *reterr)
{
	int r = generations_renew(m, reterr);

	return r < 0 ? r : spool_renew(m, reterr);
}
