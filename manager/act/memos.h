/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * memos.h - what edits of a program found out (docs/format-memo.md), kept in the store for the next one
 *
 * An edit is taken to believe its program and nobody else, and a memo says what code a generation is made of. So it is
 * the program's own, written by an edit of it alone, and from then on out of every editor's reach: root's, and given to
 * the next edit only while it has the SHA-256 that state.db has. It can be made again: it goes before any generation
 * does (quota.h), with the program, and when a generation made with it is condemned or taken back.
 */

#include <limits.h>
#include <stdbool.h>

#include "manager/keep/catalog.h"
#include "manager/keep/context.h"

#define MEMO_NAME "memo" /* in the store, and for the commands */

/** memos_wanted() - does the editor's command take one? */
bool memos_wanted(const struct manager *manager);

/** memos_give() - into @ret, which is returned, the path of the module's; NULL: there is none that is as it was kept */
const char *memos_give(struct manager *manager, const struct module_row *module, char ret[PATH_MAX]);

/** memos_keep() - what the edit that has just ended left in the work directory, if anything; what fails is told in the log */
void memos_keep(struct manager *manager, const struct module_row *module);

/** memos_drop() - Return: 1: it is gone; 0: there was none; -errno with @reterr */
int memos_drop(struct manager *manager, int64_t module, struct fault *reterr);
