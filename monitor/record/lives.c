/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/record/lives.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "monitor/identify/identity.h"
#include "monitor/identify/resolver.h"

#define MAX_WATCHED 4096u
#define MAX_OF_USER 256u /* events of one user that wait to be written: others' must find room, too */

struct watched {
	struct seen {
		uint64_t device, inode, size;
		int64_t changed_ns;
	} seen;			    /* what stat(2) says: while that is the same, so is the rest */
	struct sampler_inode inode; /* device 0 */
	struct file_identity file;
	struct build_id build_id;
	char *path; /* owned */
};

struct lives {
	struct watched *watched; /* owned */
	size_t n_watched;
	struct lifecycle pending;
	bool is_urgent;
};

struct lives *lives_new(void)
{
	return calloc(1, sizeof(struct lives));
}

static void watched_done(struct watched *watched, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(watched[i].path);
	free(watched);
}

void lives_free(struct lives *lives)
{
	if (!lives)
		return;
	watched_done(lives->watched, lives->n_watched);
	lifecycle_done(&lives->pending);
	free(lives);
}

static bool is_inode(const struct watched *watched, const struct sampler_inode *inode)
{
	return watched->inode.inode == inode->inode && watched->inode.generation == inode->generation;
}

/* Most stand where they stood before. */
static bool watched_find(const struct watched *watched, size_t n, const struct sampler_inode *inode,
			 size_t likely)
{
	if (likely < n && is_inode(&watched[likely], inode))
		return true;
	for (size_t i = 0; i < n; i++)
		if (is_inode(&watched[i], inode))
			return true;
	return false;
}

/* Is it the very file that stood in the list? Another may have its inode's number, on another device. */
static const struct watched *watched_file(const struct lives *lives, const struct file_identity *file)
{
	for (size_t i = 0; i < lives->n_watched; i++)
		if (file_identity_is_equal(&lives->watched[i].file, file))
			return &lives->watched[i];
	return NULL;
}

static struct seen seen_of(const struct stat *st)
{
	return (struct seen){ st->st_dev, st->st_ino, (uint64_t)st->st_size, stat_changed_ns(st) };
}

static bool watched_fill(const char *path, struct watched *ret)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct identity identity;
	struct stat st;

	if (path[0] != '/' || fd < 0 || fstat(fd, &st) < 0 || identity_of_fd(fd, &identity) < 0 ||
	    file_identity_of_fd(fd, &ret->file) < 0 || resolver_inode_of(path, &ret->inode) < 0)
		return false;
	ret->seen = seen_of(&st);
	/* What the kernel maps, not what stat(2) says. */
	ret->inode.inode = ret->file.inode;
	ret->build_id = identity.build_id;
	ret->path = strdup(path);
	return ret->path;
}

/* As it was in the last list, which is mostly the same one. */
static struct watched *watched_before(const struct lives *lives, const char *path, size_t likely)
{
	if (likely < lives->n_watched && lives->watched[likely].path &&
	    strcmp(lives->watched[likely].path, path) == 0)
		return &lives->watched[likely];
	for (size_t i = 0; i < lives->n_watched; i++)
		if (lives->watched[i].path && strcmp(lives->watched[i].path, path) == 0)
			return &lives->watched[i];
	return NULL;
}

static bool is_unchanged(const struct watched *before)
{
	struct stat st;
	struct seen now;

	if (stat(before->path, &st) < 0)
		return false;
	now = seen_of(&st);
	return memcmp(&now, &before->seen, sizeof(now)) == 0;
}

/* Files are opened only when they are others than before. */
static bool watched_take(struct lives *lives, const char *path, size_t likely, struct watched *ret)
{
	struct watched *before = watched_before(lives, path, likely);

	if (!before || !is_unchanged(before))
		return watched_fill(path, ret);
	*ret = *before;
	before->path = NULL;
	return true;
}

static int room_for_one(struct watched **watched, size_t n, size_t *capacity)
{
	size_t wanted = *capacity ? 2 * *capacity : 16;
	struct watched *grown;

	if (n < *capacity)
		return 0;
	grown = reallocarray(*watched, wanted, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*watched = grown;
	*capacity = wanted;
	return 0;
}

static int list_read(struct lives *lives, const char *list, struct watched **ret, size_t *retn,
		     struct fault *reterr)
{
	FILE *file = fopen(list, "re");
	struct watched *watched = NULL;
	_clean_(freep) char *line = NULL;
	size_t size = 0, n = 0, capacity = 0;
	int r = file || errno == ENOENT ? 0 : -errno;

	while (r == 0 && file && n < MAX_WATCHED && getline(&line, &size, file) > 0) {
		r = room_for_one(&watched, n, &capacity);
		line[strcspn(line, "\n")] = '\0';
		n += r == 0 && watched_take(lives, line, n, &watched[n]);
	}
	if (file)
		fclose(file);
	if (r < 0) {
		watched_done(watched, n);
		return fault_errno(reterr, r, "%s", list);
	}
	*ret = watched;
	*retn = n;
	return 0;
}

int lives_watch(struct lives *lives, struct sampler *sampler, const char *list, struct fault *reterr)
{
	struct watched *watched = NULL;
	size_t n = 0;
	int r = list_read(lives, list, &watched, &n, reterr);

	if (r < 0)
		return r;
	for (size_t i = 0; i < lives->n_watched; i++)
		if (!watched_find(watched, n, &lives->watched[i].inode, i))
			sampler_watch(sampler, &lives->watched[i].inode, false);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (!watched_find(lives->watched, lives->n_watched, &watched[i].inode, i))
			r = sampler_watch(sampler, &watched[i].inode, true);
	watched_done(lives->watched, lives->n_watched);
	lives->watched = watched;
	lives->n_watched = n;
	return r < 0 ? fault_errno(reterr, r, "cannot watch programs") : (int)n;
}

static uint64_t realtime_of(uint64_t monotonic_ns)
{
	return clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - monotonic_ns);
}

/* What it is called. Watched files are known for sure; others are looked for while they may still be there. */
static void program_fill(struct lives *lives, struct collector *collector, const struct sampler_event *event,
			 size_t size, struct finder_answer *answer, struct lifecycle_event *ret)
{
	const struct catalog_module *module = collector_module(collector, &event->module);
	const struct watched *watched;

	ret->file = finder_identity(&event->module);
	ret->space = event->module.space;
	watched = watched_file(lives, &ret->file);
	if (watched) {
		ret->build_id = watched->build_id;
		ret->path = watched->path;
		ret->space = 0;
	} else if (module) {
		ret->build_id = module->build_id;
		ret->path = module->path;
	} else if (event->type == SAMPLER_EVENT_SIGNAL && collector_program(collector, event, size, answer)) {
		ret->build_id = answer->build_id;
		ret->path = answer->name;
	}
}

static void fault_fill(struct lives *lives, struct collector *collector, const struct sampler_event *event,
		       struct lifecycle_event *ret)
{
	const struct catalog_module *module = collector_module(collector, &event->fault);
	const struct watched *watched;

	if (!event->fault.device)
		return;
	ret->fault_file = finder_identity(&event->fault);
	ret->fault_offset = event->fault_offset;
	watched = watched_file(lives, &ret->fault_file);
	if (watched || module) {
		ret->fault_build_id = watched ? watched->build_id : module->build_id;
		ret->fault_path = watched ? watched->path : module->path;
	} else if (file_identity_is_equal(&ret->file, &ret->fault_file)) {
		ret->fault_build_id = ret->build_id;
		ret->fault_path = ret->path;
	}
}

/* In a storm the first ones say what it is; of the rest there is only a number. */
static bool has_room(const struct lives *lives, uint32_t user)
{
	size_t n = 0;

	for (size_t i = 0; i < lives->pending.n_events; i++)
		n += lives->pending.events[i].user == user;
	return lives->pending.n_events < LIFECYCLE_MAX_EVENTS && n < MAX_OF_USER;
}

static int untold_add(struct lives *lives, uint32_t user, enum lifecycle_kind kind, uint32_t count)
{
	struct lifecycle_event life = {
		.kind = LIFECYCLE_UNTOLD, .count = count, .value = (int32_t)kind, .user = user
	};

	if (!count || lives->pending.n_events >= LIFECYCLE_MAX_EVENTS)
		return 0;
	life.time_ns = clock_ns(CLOCK_REALTIME);
	return lifecycle_add(&lives->pending, &life);
}

int lives_untold(struct lives *lives, uint32_t user, const struct sampler_share *share)
{
	int r = untold_add(lives, user, LIFECYCLE_EXEC, share->starts_untold);

	return r < 0 ? r : untold_add(lives, user, LIFECYCLE_SIGNAL, share->deaths_untold);
}

int lives_event(struct lives *lives, struct collector *collector, const struct sampler_event *event,
		size_t size)
{
	char comm[SAMPLER_COMM_BYTES + 1] = "";
	struct lifecycle_event life = { .time_ns = realtime_of(event->time_ns),
					.pid = event->tgid,
					.count = 1,
					.comm = comm,
					.user = event->user };
	struct finder_answer answer;

	if (event->type == SAMPLER_EVENT_MODULE)
		return 0;
	if (!has_room(lives, event->user))
		return untold_add(lives, event->user,
				  event->type == SAMPLER_EVENT_SIGNAL ? LIFECYCLE_SIGNAL : LIFECYCLE_EXEC, 1);
	memcpy(comm, event->comm, SAMPLER_COMM_BYTES);
	switch (event->type) {
	case SAMPLER_EVENT_EXEC: life.kind = LIFECYCLE_EXEC; break;
	case SAMPLER_EVENT_EXIT:
		life.kind = LIFECYCLE_EXIT;
		life.value = (int32_t)event->exit_code;
		break;
	case SAMPLER_EVENT_SIGNAL:
		life.kind = LIFECYCLE_SIGNAL;
		life.value = event->signal;
		life.code = event->code;
		lives->is_urgent = true;
		break;
	default: return 0;
	}
	program_fill(lives, collector, event, size, &answer, &life);
	if (event->type == SAMPLER_EVENT_SIGNAL)
		fault_fill(lives, collector, event, &life);
	return lifecycle_add(&lives->pending, &life);
}

bool lives_is_urgent(const struct lives *lives)
{
	return lives->is_urgent;
}

const struct lifecycle *lives_pending(const struct lives *lives)
{
	return &lives->pending;
}

void lives_clear(struct lives *lives)
{
	lifecycle_done(&lives->pending);
	lives->is_urgent = false;
}
