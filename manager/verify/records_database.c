/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/verify/records_database.h"

#include <errno.h>
#include <unistd.h>

#include "manager/keep/path.h"

int records_database_open(const char *state_directory, char retpath[PATH_MAX], sqlite3 **ret,
			  struct fault *reterr)
{
	sqlite3 *db = NULL;
	int r;

	path_join(state_directory, "state.db", retpath);
	if (access(retpath, R_OK) < 0)
		return fault_errno(reterr, -errno, "%s", retpath);
	r = sqlite3_open_v2(retpath, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW, NULL);
	if (r != SQLITE_OK) {
		r = fault_set(reterr, -EUCLEAN, "%s: %s", retpath, db ? sqlite3_errmsg(db) : "no memory");
		sqlite3_close_v2(db);
		return r;
	}
	sqlite3_busy_timeout(db, 5000);
	/* One snapshot for all that is read. */
	sqlite3_exec(db, "PRAGMA trusted_schema=OFF; BEGIN", NULL, NULL, NULL);
	*ret = db;
	return 0;
}
