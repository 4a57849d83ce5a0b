/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/keep/verified.h"

#include <errno.h>

#include "manager/keep/journal.h"

int verified_put(struct state *state, int64_t generation, int fd, struct fault *reterr)
{
	struct file_identity file;
	int r = file_identity_of_fd(fd, &file);

	if (r < 0)
		return fault_errno(reterr, r, "cannot tell which file it is");
	r = state_do(
		state, reterr,
		"INSERT OR REPLACE INTO verified_file(device, inode, changed_ns, size, generation, time_ns) "
		"VALUES(?, ?, ?, ?, ?, ?)",
		"iiiiii", (int64_t)file.device, (int64_t)file.inode, (int64_t)file.changed_ns,
		(int64_t)file.size, generation, journal_now_ns());
	return r < 0 ? r :
		       state_do(state, reterr,
				"DELETE FROM verified_file WHERE generation = ?1 AND rowid NOT IN (SELECT "
				"rowid FROM "
				"verified_file WHERE generation = ?1 ORDER BY time_ns DESC, rowid DESC LIMIT "
				"?2)",
				"ii", generation, (int64_t)VERIFIED_PER_GENERATION);
}

int verified_find(struct state *state, const struct file_identity *file, int64_t *retgeneration,
		  struct fault *reterr)
{
	if (!file_identity_is_known(file))
		return fault_set(reterr, -ENOENT, "which file it was is not known");
	return state_integer(
		state, retgeneration, reterr,
		"SELECT generation FROM verified_file WHERE device = ? AND inode = ? AND changed_ns = ? AND "
		"size = ?",
		"iiii", (int64_t)file->device, (int64_t)file->inode, (int64_t)file->changed_ns,
		(int64_t)file->size);
}
