/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/program/shipped.h"

#include <errno.h>

#include "manager/keep/store.h"
#include "manager/program/installed.h"

static int keep_file(struct manager *m, const struct module_row *module, const struct installed *in,
		     struct fault *reterr)
{
	const struct replacement *file = &in->examination.file;
	char digest[DIGEST_TEXT];
	struct store_module description = { .build_id = module->key,
					    .digest = digest,
					    .llvm_version = module->llvm_version,
					    .size = (uint64_t)file->st.st_size,
					    .first_ns = (uint64_t)module->first_ns };
	int r = digest_fd(file->fd, file->path, digest, reterr);

	if (r == 0)
		r = store_put_original(m->store, &description, file->fd, reterr);
	if (r == 0)
		r = state_do(m->state, reterr, "UPDATE generation SET digest = ?, size = ? WHERE id = ?",
			     "tii", digest, (int64_t)file->st.st_size, in->generation.id);
	return r;
}

/* 1: kept; 0: the shipped file does not stand there. */
static int keep_from(struct manager *m, const struct module_row *module, const char *path,
		     struct fault *reterr)
{
	struct installed in;
	struct fault ignored;
	int r = 0;

	if (installed_open(m, path, &in, &ignored) < 0)
		return 0;
	if (in.module.id == module->id && in.generation.number == 0) {
		r = keep_file(m, module, &in, reterr);
		r = r < 0 ? r : 1;
	}
	installed_done(&in);
	return r;
}

int shipped_keep(struct manager *m, const struct module_row *module, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	struct generation_row shipped = { 0 };
	char original[PATH_MAX];
	int r = generation_get(m->state, module->id, 0, &shipped, reterr);
	bool kept = r == 0 && shipped.digest[0] &&
		    store_check_file(store_path(m->store, module->key, "original", original), shipped.digest,
				     NULL) == 0;

	generation_row_done(&shipped);
	if (r < 0 || kept)
		return r;
	r = target_paths(m->state, module->id, &paths, reterr);
	for (char **path = paths; r == 0 && *path; path++)
		r = keep_from(m, module, *path, reterr);
	if (r == 0)
		return fault_set(reterr, -ENOENT,
				 "%s: the shipped file is neither in the store nor installed", module->path);
	return r < 0 ? r : 0;
}
