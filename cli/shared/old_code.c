/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/shared/old_code.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-login.h>

#include "base/clock.h"
#include "base/macro.h"
#include "cli/shared/container.h"
#include "module/build_id.h"
#include "module/image.h"
#include "module/morph_data.h"
#include "monitor/perf/process_maps.h"

#define DELETED " (deleted)"
#define SWAP_PREFIX ".morph-swap-"

/* What a process executes; a file in the process, not at its path. */
struct mapping {
	uint64_t start, end, inode;
	char path[PATH_MAX]; /* without DELETED */
	bool is_deleted;
};

void old_code_done(struct old_code *old)
{
	free(old->list);
}

static bool mapping_of(const struct process_mapping *maps, struct mapping *ret)
{
	size_t n = strlen(maps->name), deleted = strlen(DELETED);

	if (maps->name[0] != '/' || n >= sizeof(ret->path))
		return false;
	*ret = (struct mapping){ maps->start, maps->end, maps->inode };
	memcpy(ret->path, maps->name, n + 1);
	ret->is_deleted = n > deleted && strcmp(ret->path + n - deleted, DELETED) == 0;
	if (ret->is_deleted)
		ret->path[n - deleted] = '\0';
	return true;
}

/* The very file that is mapped, whatever stands at its path: is it a version of this module? */
static bool is_version(pid_t pid, const struct mapping *m, const struct record *module)
{
	_clean_(image_freep) struct image *image = NULL;
	char path[96], id[BUILD_ID_MAX_TEXT];
	const char *shipped = record_text(module, "build_id");
	struct morph_peek peek;
	struct fault ignored;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, m->start, m->end);
	if (!shipped || image_open(path, &image, &ignored) < 0)
		return false;
	if (strcmp(build_id_text(image_build_id(image), id), shipped) == 0)
		return true;
	return morph_data_peek(image, NULL, &peek, &ignored) == 0 && peek.origin.size &&
	       strcmp(build_id_text(&peek.origin, id), shipped) == 0;
}

static bool is_swap_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && strncmp(slash + 1, SWAP_PREFIX, strlen(SWAP_PREFIX)) == 0;
}

/* The module whose file that is, or was. */
static const struct record *module_of(const struct records *modules, pid_t pid, const struct mapping *m)
{
	bool was_swapped = m->is_deleted && is_swap_name(m->path);
	size_t directory = (size_t)(strrchr(m->path, '/') - m->path);

	for (size_t i = 0; i < modules->n_rows; i++) {
		const char *at = record_text(&modules->rows[i], "path");

		if (!at || (!was_swapped && strcmp(at, m->path) != 0))
			continue;
		if (!was_swapped ||
		    (strncmp(at, m->path, directory + 1) == 0 && !strchr(at + directory + 1, '/') &&
		     is_version(pid, m, &modules->rows[i])))
			return &modules->rows[i];
	}
	return NULL;
}

static int64_t start_ns(pid_t pid)
{
	double age_s = process_age_s(pid);

	return age_s > 0 ? (int64_t)clock_ns(CLOCK_REALTIME) - (int64_t)(age_s * 1e9) : 0;
}

static bool is_elsewhere(pid_t pid)
{
	char path[64];
	struct stat ours, theirs;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return stat("/proc/self/ns/pid", &ours) == 0 && stat(path, &theirs) == 0 &&
	       (ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev);
}

/* What it is called by whoever runs it. */
static void container_name(pid_t pid, char ret[OLD_CODE_NAME])
{
	_clean_(freep) char *group = NULL, *machine = NULL;

	strcpy(ret, "in another process namespace");
	if (sd_pid_get_machine_name(pid, &machine) >= 0) {
		snprintf(ret, OLD_CODE_NAME, "%s", machine);
		return;
	}
	if (sd_pid_get_cgroup(pid, &group) >= 0)
		container_of_group(group, ret, OLD_CODE_NAME);
}

static void owner_find(struct old_process *p)
{
	_clean_(freep) char *unit = NULL, *session = NULL;

	if (sd_pid_get_user_unit(p->pid, &unit) >= 0)
		p->is_user_unit = true;
	else if (sd_pid_get_unit(p->pid, &unit) < 0)
		unit = NULL;
	snprintf(p->unit, sizeof(p->unit), "%s", unit ? unit : "");
	if (sd_pid_get_session(p->pid, &session) >= 0)
		snprintf(p->session, sizeof(p->session), "%s", session);
}

static int process_add(struct old_code *old, const struct old_process *p)
{
	struct old_process *more = old->list;

	if (old->n == old->room) {
		more = reallocarray(old->list, 2 * old->room + 16, sizeof(*more));
		if (!more)
			return -ENOMEM;
		old->list = more;
		old->room = 2 * old->room + 16;
	}
	old->list[old->n++] = *p;
	return 0;
}

static int mapping_look(struct old_code *old, pid_t pid, uid_t uid, const struct mapping *m,
			const struct record *module)
{
	struct old_process p = { .pid = pid, .uid = uid, .module = module };
	struct stat st;

	p.is_old = m->is_deleted || stat(m->path, &st) < 0 || st.st_ino != m->inode;
	if (is_elsewhere(pid))
		container_name(pid, p.container);
	if (!p.is_old && !p.container[0])
		return 0;
	if (p.container[0])
		p.is_old = m->is_deleted;
	if (is_swap_name(m->path))
		snprintf(p.swapped, sizeof(p.swapped), "%.63s", strrchr(m->path, '/') + 1);
	p.is_swap = p.swapped[0] || (!m->is_deleted && is_version(pid, m, module));
	p.since_ns = start_ns(pid);
	owner_find(&p);
	return process_add(old, &p);
}

/* Replaced or removed, and no file of ours; what has never had a name does not count. */
static bool is_upgraded(const struct mapping *m)
{
	return m->is_deleted && strncmp(m->path, "/memfd:", 7) != 0 && strncmp(m->path, "/dev/", 5) != 0 &&
	       strncmp(m->path, "/SYSV", 5) != 0;
}

/* A process under way. */
struct look {
	struct old_code *old;
	const struct records *modules;
	pid_t pid;
	uid_t uid;
	bool *seen; /* of the modules: each file of a process once */
	bool upgraded;
};

static int on_mapping(const struct process_mapping *maps, void *closure)
{
	struct look *look = closure;
	const struct record *module;
	struct mapping m;
	size_t at;

	if (!mapping_of(maps, &m))
		return 0;
	module = module_of(look->modules, look->pid, &m);
	if (!module) {
		look->upgraded |= is_upgraded(&m);
		return 0;
	}
	at = (size_t)(module - look->modules->rows);
	if (look->seen[at])
		return 0;
	look->seen[at] = true;
	return mapping_look(look->old, look->pid, look->uid, &m, module);
}

static int process_look(struct old_code *old, const struct records *modules, pid_t pid)
{
	_clean_(freep) bool *seen = calloc(modules->n_rows + 1, sizeof(*seen));
	struct look look = { old, modules, pid, 0, seen, false };
	size_t before = old->n;
	char path[32];
	struct stat st;
	int r;

	if (!seen)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) < 0)
		return 0;
	look.uid = st.st_uid;
	r = process_maps_each(pid, on_mapping, &look);
	old->n_hidden += r == -EACCES || r == -EPERM;
	for (size_t i = before; i < old->n; i++)
		look.upgraded |= old->list[i].is_old && !old->list[i].is_swap;
	for (size_t i = before; i < old->n; i++)
		old->list[i].is_mixed = look.upgraded;
	return r == -ENOMEM ? r : 0;
}

static int compare(const void *a, const void *b)
{
	const struct old_process *x = a, *y = b;
	int order = strcmp(x->unit, y->unit);

	return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

int old_code_find(const struct records *modules, struct old_code *ret, struct fault *reterr)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int r = 0;

	*ret = (struct old_code){ 0 };
	if (!proc)
		return fault_errno(reterr, -errno, "/proc");
	while (r == 0 && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			r = process_look(ret, modules, (pid_t)atoi(entry->d_name));
	closedir(proc);
	if (r < 0)
		return fault_errno(reterr, r, "processes");
	if (ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), compare);
	return 0;
}
