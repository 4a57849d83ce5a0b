/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/memos.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/decide/machine.h"
#include "manager/keep/digest.h"
#include "manager/keep/path.h"
#include "manager/keep/state.h"
#include "manager/keep/store.h"

bool memos_wanted(const struct manager *m)
{
	return strstr(m->settings.editor_command, "{memo}");
}

/* As it is on record; NULL: it is not. */
static char *digest_get(struct manager *m, int64_t module)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(m->state, &statement, NULL, "SELECT digest FROM memo WHERE module = ?", "i",
			      module);

	if (r == 0)
		r = state_step(m->state, statement, NULL);
	return r == 1 ? statement_text(statement, 0) : NULL;
}

static int record_drop(struct manager *m, int64_t module, struct fault *reterr)
{
	return state_do(m->state, reterr, "DELETE FROM memo WHERE module = ?", "i", module);
}

int memos_drop(struct manager *m, int64_t id, struct fault *reterr)
{
	struct module_row module = { 0 };
	char path[PATH_MAX];
	int r = module_get(m->state, id, &module, reterr);

	if (r == 0)
		r = record_drop(m, id, reterr);
	if (r == 0 && unlink(store_path(m->store, module.key, MEMO_NAME, path)) == 0)
		r = 1;
	else if (r == 0 && errno != ENOENT && errno != ENOTDIR)
		r = fault_errno(reterr, -errno, "%s", path);
	module_row_done(&module);
	return r;
}

const char *memos_give(struct manager *m, const struct module_row *module, char ret[PATH_MAX])
{
	_clean_(freep) char *digest = digest_get(m, module->id);
	struct fault fault = { "" };

	store_path(m->store, module->key, MEMO_NAME, ret);
	if (digest && store_check_file(ret, digest, &fault) == 0)
		return ret;
	if (digest)
		log_warning("%s: the memo of earlier edits is not used, and made anew: %s", module->path,
			    fault.text);
	if (memos_drop(m, module->id, &fault) < 0)
		log_warning("%s", fault.text);
	return NULL;
}

/* The record goes first and comes last: a memo that was cut short has none, or another's. */
static int memo_store(struct manager *m, const struct module_row *module, int fd, const char *digest,
		      uint64_t size, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	char to[PATH_MAX];
	int r;

	if (machine_free_bytes(m->store) < m->settings.minimum_free_bytes + size)
		return fault_set(
			reterr, -ENOSPC,
			"it takes %llu MiB, and then less than minimum_free (%llu MiB) would be left",
			(unsigned long long)(size >> 20),
			(unsigned long long)(m->settings.minimum_free_bytes >> 20));
	r = record_drop(m, module->id, reterr);
	if (r == 0)
		r = file_map_fd(fd, MEMO_NAME, &map, reterr);
	if (r == 0)
		r = file_write(store_path(m->store, module->key, MEMO_NAME, to), map.data, map.size, 0600,
			       reterr);
	if (r == 0)
		r = store_check_file(to, digest, reterr);
	return r < 0 ? r :
		       state_do(m->state, reterr, "INSERT OR REPLACE INTO memo(module, digest) VALUES(?, ?)",
				"it", module->id, digest);
}

void memos_keep(struct manager *m, const struct module_row *module)
{
	_clean_(freep) char *known = digest_get(m, module->id);
	char from[PATH_MAX], digest[DIGEST_TEXT];
	struct fault fault = { "" };
	struct stat st;
	_clean_(fd_closep) int fd =
		open(path_join(m->work, MEMO_NAME, from), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return;
	r = digest_fd(fd, from, digest, &fault);
	if (r == 0 && known && strcmp(known, digest) == 0)
		return;
	if (r == 0)
		r = memo_store(m, module, fd, digest, (uint64_t)st.st_size, &fault);
	if (r < 0)
		log_warning("%s: no memo is kept, so the next edit takes as long as this one: %s",
			    module->path, fault.text);
}
