/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * state.h - morphd's SQLite database: opening, transactions, statements
 *
 * One file, DIRECTORY/state.db, in WAL mode with full synchronization: what was committed survives
 * kill -9 and power loss, what was not never happened. Only morphd opens it, one instance at a time
 * (DIRECTORY/morphd.lock). A database that is damaged is set aside as state.db.damaged-N, never
 * deleted, and an empty one takes its place; the caller rebuilds what the store knows.
 *
 * The tables are described in docs/format-store.md; catalog.h, tally.h and journal.h hold the queries.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sqlite3.h>

#include "base/fault.h"
#include "base/macro.h"

#define STATE_VERSION 7

struct state;

enum state_origin { STATE_OPENED = 0, STATE_CREATED = 1, STATE_REPLACED_DAMAGED = 2 };

/**
 * state_open() - lock @directory and open its database, made when there is none
 * @retorigin: whether there was one; after STATE_REPLACED_DAMAGED @retwhy says what was wrong with it
 * Return: 0; -EBUSY when another morphd holds the directory; -EPROTONOSUPPORT when the database is
 * of a newer Morph; -errno.
 */
int state_open(const char *directory, struct state **ret, enum state_origin *retorigin, struct fault *retwhy,
	       struct fault *reterr);
void state_free(struct state *state); /* accepts NULL; undoes what is not committed */
DEFINE_CLEANUP(struct state *, state_free);

/* Transactions do not nest; state_begin() inside one is a bug. */
int state_begin(struct state *state, struct fault *reterr);
int state_commit(struct state *state, struct fault *reterr); /* on error everything is undone */
void state_undo(struct state *state);			     /* harmless when none is open */

/**
 * state_prepare() - a statement with its parameters bound
 * @types: one letter per '?': 'i' int64_t, 'd' double, 't' const char * (NULL: null); texts are copied
 * @ret: owned by the caller; declare it _clean_(statement_freep)
 */
int state_prepare(struct state *state, sqlite3_stmt **ret, struct fault *reterr, const char *sql,
		  const char *types, ...);
/**
 * state_step() - 1: a row is there; 0: done; negative: -ENOSPC (disk full), -EIO, -EUCLEAN (damaged:
 * the next state_open() sets the database aside), ...
 */
int state_step(struct state *state, sqlite3_stmt *statement, struct fault *reterr);
/** state_do() - prepare, run to the end, finalize */
int state_do(struct state *state, struct fault *reterr, const char *sql, const char *types, ...);
/** state_integer() - first column of the first row; -ENOENT when there is no row or it is null */
int state_integer(struct state *state, int64_t *ret, struct fault *reterr, const char *sql, const char *types,
		  ...);
int64_t state_last_id(struct state *state);

/**
 * state_predicate() - let SQL ask @test of a text (or null) by @name(text), until it is said anew
 * @userdata: borrowed until then
 */
typedef bool (*state_test)(const void *userdata, const char *text);
int state_predicate(struct state *state, const char *name, state_test test, const void *userdata,
		    struct fault *reterr);

static inline void statement_freep(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

/** statement_text() - column @i as an owned copy; NULL for null or no memory */
char *statement_text(sqlite3_stmt *statement, int i);
