/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * records_database.h - state.db opened beside morphd, for reading only (private to the records)
 */

#include <limits.h>
#include <sqlite3.h>

#include "base/fault.h"

/**
 * records_database_open() - @state_directory/state.db, as one snapshot; its path into @retpath
 * @ret: sqlite3_close_v2() it. Return: 0; -ENOENT, -EACCES, -EUCLEAN with @reterr
 */
int records_database_open(const char *state_directory, char retpath[PATH_MAX], sqlite3 **ret,
			  struct fault *reterr);

/** record_column() - a text, "" for null; valid until the next step */
static inline const char *record_column(sqlite3_stmt *row, int i)
{
	const char *text = (const char *)sqlite3_column_text(row, i);

	return text ? text : "";
}
