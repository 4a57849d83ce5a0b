/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "base/macro.h"
#include "cli/verify/verify.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"
#include "manager/mount/mount_place.h"
#include "manager/mount/mount_record.h"
#include "manager/place/mount_table.h"

static void _printf_(3, 4) conclude(struct verdict *v, bool explained, const char *fmt, ...)
{
	va_list ap;

	v->explained = explained;
	va_start(ap, fmt);
	vsnprintf(v->text, sizeof(v->text), fmt, ap);
	va_end(ap);
}

/* Does the package's digest fit the shipped file that the store keeps? 1, 0; -1: it cannot be read. */
static int shipped_is_packaged(const struct record_program *program, const char *store,
			       const struct package_file *package)
{
	char path[PATH_MAX];
	_clean_(fd_closep) int fd = -1;
	const struct record_generation *shipped = record_generation_find(program, 0);

	if (!store[0])
		return -1;
	store_path(store, program->build_id, "original", path);
	if (shipped && store_check_file(path, shipped->digest, NULL) < 0)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -1 : package_file_matches(package, fd, NULL) == 1;
}

/* What lies below a mount must be what the generation was made for. false: @v says what is wrong. */
static bool below_is_shipped(const struct record_program *program, struct verdict *v)
{
	const struct record_generation *shipped = record_generation_find(program, 0);
	_clean_(fd_closep) int fd = v->mounted ? mount_place_open_below(v->path, NULL) : -1;

	if (fd < 0)
		return true; /* not mounted, or not for us to see */
	if (digest_fd(fd, v->path, v->below, NULL) < 0 || !shipped || strcmp(v->below, shipped->digest) == 0)
		return true;
	conclude(v, false, "the packaged file below generation %lld is not the one it was made for",
		 (long long)v->generation);
	return false;
}

static bool is_suspended(const struct settings *settings)
{
	char path[PATH_MAX];

	path_join(settings->runtime_directory, "mounts.suspended", path);
	return access(path, F_OK) == 0;
}

static void generation_stands(const struct record_program *program, const char *store,
			      const struct record_generation *found, struct verdict *v)
{
	const char *how = v->mounted ? "is mounted over it" : "is in its place";
	int packaged = v->package_complains ? shipped_is_packaged(program, store, &v->package) : 1;

	if (!below_is_shipped(program, v))
		return;
	if (strcmp(found->state, "condemned") == 0)
		conclude(v, false, "generation %lld, which was condemned, %s; `morph rollback %s`",
			 (long long)found->number, how, v->path);
	else if (v->recorded != found->number)
		conclude(v, false, "generation %lld %s, and morphd's records name generation %lld",
			 (long long)found->number, how, (long long)v->recorded);
	else if (packaged == 0)
		conclude(v, false,
			 "generation %lld %s, and package %s has other bytes than the shipped file in the "
			 "store",
			 (long long)found->number, how, v->package.package);
	else if (!v->package_complains)
		conclude(v, true, "generation %lld %s; no package manager has a digest to compare",
			 (long long)found->number, how);
	else
		conclude(v, true, "generation %lld %s; package %s has other bytes, %s",
			 (long long)found->number, how, v->package.package,
			 packaged == 1 ? "which the store keeps" : "which morphd says it keeps");
}

/* A user's own morphd changes no packaged file: the program's name leads to the generation, where that is first in PATH. */
static void shadow_stands(const struct settings *settings, struct verdict *v)
{
	const char *name = strrchr(v->path, '/');
	char directory[PATH_MAX], link[PATH_MAX], digest[DIGEST_TEXT];
	_clean_(fd_closep) int fd = -1;

	if (!settings_path(settings, settings->shadow_directory, directory))
		directory[0] = '\0';
	path_join(directory, name ? name + 1 : v->path, link);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || digest_fd(fd, link, digest, NULL) < 0)
		conclude(v, false,
			 "the packaged file, and morphd's records name generation %lld, which %s does not "
			 "lead to",
			 (long long)v->recorded, link);
	else if (strcmp(digest, v->expected) != 0)
		conclude(v, false, "the packaged file, and %s leads to another one than generation %lld",
			 link, (long long)v->recorded);
	else
		conclude(v, true, "the packaged file; %s leads to generation %lld", link,
			 (long long)v->recorded);
}

static void shipped_stands(const struct settings *settings, struct verdict *v)
{
	if (v->package_complains)
		conclude(v, false,
			 "is what Morph found there, and package %s has other bytes: it was changed before",
			 v->package.package);
	else if (v->recorded > 0 && is_suspended(settings))
		conclude(v, true,
			 "the packaged file, until packages are installed; then generation %lld again",
			 (long long)v->recorded);
	else if (v->recorded > 0 && settings_shadows(settings))
		shadow_stands(settings, v);
	else if (v->recorded > 0)
		conclude(v, false,
			 "the packaged file stands there, and morphd's records name generation %lld",
			 (long long)v->recorded);
	else
		conclude(v, true, "the packaged file");
}

/* Before its first edit the digest of the shipped file is not on record. */
static bool was_never_edited(const struct record_program *program)
{
	const struct record_generation *shipped = program ? record_generation_find(program, 0) : NULL;

	return shipped && !shipped->digest[0] && program->generation == 0;
}

static void unknown_stands(const struct record_program *program, struct verdict *v)
{
	if (was_never_edited(program) && !v->package_complains)
		conclude(v, true, "the packaged file; Morph has not edited it");
	else if (v->package_complains)
		conclude(v, false, "differs from package %s, and not by Morph", v->package.package);
	else if (v->package.package[0])
		conclude(v, true,
			 program ? "another build, as package %s has it; morphd takes note of it soon" :
				   "as package %s has it; not a program of Morph's",
			 v->package.package);
	else if (program)
		conclude(v, false, "is neither the shipped file nor a generation");
	else
		conclude(v, false, "no package has a digest of it, and Morph does not know it");
}

static void expected_find(const struct record_program *program, struct verdict *v)
{
	const struct record_generation *g = record_generation_find(program, v->recorded);

	if (g)
		snprintf(v->expected, sizeof(v->expected), "%s", g->digest);
}

void verify_check(const struct settings *settings, char *path, const struct record_program *program,
		  const char *store, struct verdict *ret)
{
	const struct record_generation *found = NULL;
	struct verdict *v = ret;
	struct fault fault = { "" };
	_clean_(fd_closep) int fd = -1;
	char full[PATH_MAX];

	*v = (struct verdict){ .path = path,
			       .generation = -1,
			       .recorded = program ? program->generation : -1 };
	if (program)
		expected_find(program, v);
	fd = open(settings_path(settings, path, full) ?: "", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || digest_fd(fd, path, v->actual, &fault) < 0) {
		conclude(v, false, "cannot be read: %s", fd < 0 ? strerror(errno) : fault.text);
		return;
	}
	if (package_file_find(settings->root, path, &v->package, &fault) < 0) {
		conclude(v, false, "%s", fault.text);
		return;
	}
	v->package_complains = v->package.digest[0] && package_file_matches(&v->package, fd, NULL) != 1;
	v->mounted = mount_table_at("/proc/self/mountinfo", path, NULL) == 1;
	found = program ? record_generation_by_digest(program, v->actual) : NULL;
	v->generation = found ? found->number : -1;
	if (!found)
		unknown_stands(program, v);
	else if (found->number == 0)
		shipped_stands(settings, v);
	else
		generation_stands(program, store, found, v);
}
