/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/program/arrivals.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/keep/journal.h"
#include "manager/keep/path.h"
#include "manager/mount/mounts.h"
#include "manager/place/package_lock.h"
#include "manager/program/installed.h"
#include "manager/program/priors.h"
#include "module/build_id.h"

/* A directory of sidecars. */
struct place {
	struct manager *manager;
	char path[PATH_MAX]; /* as programs are named: without the root */
	char full[PATH_MAX]; /* under it */
	char first[3];	     /* hexadecimal */
	unsigned *n_left;    /* programs that may still be entered */
	bool is_done;
};

static bool has_suffix(const char *name, const char *suffix, char ret[BUILD_ID_MAX_TEXT], const char *first)
{
	size_t n = strlen(name), n_suffix = strlen(suffix);

	return n > n_suffix && strcmp(name + n - n_suffix, suffix) == 0 &&
	       snprintf(ret, BUILD_ID_MAX_TEXT, "%s%.*s", first, (int)(n - n_suffix), name) <
		       (int)BUILD_ID_MAX_TEXT;
}

/* It is installed somewhere, and known. */
static bool is_known(struct manager *m, const char *key)
{
	int64_t n = 0;

	return state_integer(m->state, &n, NULL,
			     "SELECT count(*) FROM target t JOIN module m ON m.id = t.module WHERE m.key = ?",
			     "t", key) == 0 &&
	       n > 0;
}

/* Where the link leads, as programs are named. An absolute one is meant below the root, and followed there. */
static int link_read(const struct place *place, const char *name, char ret[PATH_MAX])
{
	const size_t n_root = strlen(place->full) - strlen(place->path);
	char link[PATH_MAX], resolved[PATH_MAX];
	ssize_t n = readlink(path_join(place->full, name, link), ret, PATH_MAX - 1);

	if (n <= 0)
		return -EINVAL;
	ret[n] = '\0';
	if (ret[0] == '/')
		return 0;
	if (!realpath(link, resolved))
		return -errno;
	if (strncmp(resolved, place->full, n_root) != 0 || resolved[n_root] != '/')
		return -EXDEV;
	snprintf(ret, PATH_MAX, "%s", resolved + n_root);
	return 0;
}

static int program_enter(struct place *place, const char *name, struct fault *reterr)
{
	struct manager *m = place->manager;
	struct installed in;
	struct fault fault = { "" };
	char path[PATH_MAX] = "";
	int r = link_read(place, name, path);

	if (r == 0)
		r = installed_open(m, path, &in, &fault);
	if (r == -ENOENT) /* its package will come yet */
		place->is_done = false;
	if (r < 0) {
		log_debug("%s/%s: %s", place->path, name, fault.text);
		return 0;
	}
	r = journal_event(m->state, in.module.id, in.target.path, EVENT_SEEN, reterr,
			  "it was installed, and carries Morph data");
	installed_done(&in);
	return r;
}

static int program_take(struct place *place, const char *name, struct fault *reterr)
{
	char key[BUILD_ID_MAX_TEXT], prior[PATH_MAX], file[BUILD_ID_MAX_TEXT + sizeof(PRIOR_SUFFIX)];

	if (!has_suffix(name, PROGRAM_SUFFIX, key, place->first))
		return 0;
	snprintf(file, sizeof(file), "%s" PRIOR_SUFFIX, key + 2);
	if (!settings_has_fleet(&place->manager->settings) &&
	    access(path_join(place->full, file, prior), F_OK) < 0)
		return 0;
	if (is_known(place->manager, key))
		return 0;
	if (!*place->n_left) {
		place->is_done = false;
		return 0;
	}
	--*place->n_left;
	return program_enter(place, name, reterr);
}

static int prior_take_up(struct place *place, const char *name, struct fault *reterr)
{
	struct module_row module = { 0 };
	char key[BUILD_ID_MAX_TEXT];
	int r = has_suffix(name, PRIOR_SUFFIX, key, place->first) ?
			module_get_by_key(place->manager->state, key, &module, reterr) :
			-ENOENT;

	if (r == 0)
		r = prior_look(place->manager, &module, reterr);
	module_row_done(&module);
	return r == -ENOENT ? 0 : r;
}

static int place_look(struct place *place, struct fault *reterr)
{
	DIR *directory = opendir(place->full);
	const struct dirent *entry;
	int r = 0;

	while (directory && r == 0 && (entry = readdir(directory))) {
		r = program_take(place, entry->d_name, reterr);
		if (r == 0)
			r = prior_take_up(place, entry->d_name, reterr);
	}
	if (directory)
		closedir(directory);
	return r;
}

static int place_tick(struct manager *m, unsigned i, unsigned *n_left, struct fault *reterr)
{
	struct place place = { .manager = m, .n_left = n_left, .is_done = true };
	struct stat st;
	int r;

	snprintf(place.first, sizeof(place.first), "%02x", i & 0xffu);
	path_join(m->settings.sidecar_directory, place.first, place.path);
	if (!settings_path(&m->settings, place.path, place.full) || stat(place.full, &st) < 0 ||
	    stat_changed_ns(&st) == m->arrivals_ns[i])
		return 0;
	r = place_look(&place, reterr);
	if (r == 0 && place.is_done)
		m->arrivals_ns[i] = stat_changed_ns(&st);
	return r;
}

void arrivals_forget(struct manager *m)
{
	memset(m->arrivals_ns, 0, sizeof(m->arrivals_ns));
}

int arrivals_tick(struct manager *m, struct fault *reterr)
{
	unsigned n_left = ARRIVALS_AT_ONCE;
	int r = 0;

	if (mounts_are_suspended(m) || package_lock_holder(m->settings.root))
		return 0;
	for (unsigned i = 0; r == 0 && i < ARRIVALS_PLACES; i++)
		r = place_tick(m, i, &n_left, reterr);
	return r;
}
