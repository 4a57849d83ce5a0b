/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/identify/resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "monitor/identify/mapped_file.h"

struct resolver {
	struct finder *finder;	 /* borrowed */
	struct catalog *catalog; /* borrowed; numbers are its aliases */
	bool is_broken;
};

/* What alias a file has in the catalog. */
struct alias {
	uint32_t number, user;
};

struct resolver *resolver_new(struct finder *finder, struct catalog *catalog)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return NULL;
	resolver->finder = finder;
	resolver->catalog = catalog;
	return resolver;
}

void resolver_free(struct resolver *resolver)
{
	free(resolver);
}

bool resolver_is_broken(const struct resolver *resolver)
{
	return resolver->is_broken;
}

/* Names come file first; every one must end within the event. */
bool resolver_path(const struct sampler_module_event *event, size_t size, char *ret)
{
	size_t n = event->path_bytes, used = 0;
	char *end = ret + PATH_MAX;

	if (size < sizeof(*event) || !n || n > sizeof(event->path) || event->path[n - 1] != '\0')
		return false;
	*--end = '\0';
	while (used < n) {
		size_t length = strlen(event->path + used);

		if (length + 1 > (size_t)(end - ret))
			return false;
		end -= length;
		memcpy(end, event->path + used, length);
		*--end = '/';
		used += length + 1;
	}
	memmove(ret, end, strlen(end) + 1);
	return true;
}

static bool find(struct resolver *resolver, const struct sampler_module_event *event, size_t size,
		 struct finder_answer *ret)
{
	const struct sampler_event *e = &event->event;
	struct finder_question question = {
		.file = e->module, .tgid = e->tgid, .start = e->start, .end = e->end
	};

	if (size < sizeof(*event))
		return false;
	if (!resolver_path(event, size, question.path))
		question.path[0] = '\0';
	if (finder_ask(resolver->finder, &question, ret) < 0)
		resolver->is_broken = true;
	return ret->found;
}

bool resolver_program(struct resolver *resolver, const struct sampler_module_event *event, size_t size,
		      struct finder_answer *ret)
{
	return find(resolver, event, size, ret);
}

static uint32_t remember(struct resolver *resolver, uint32_t number, uint32_t user, uint32_t module)
{
	struct alias alias = { number, user };

	if (module != CATALOG_NONE && catalog_set_alias(resolver->catalog, &alias, sizeof(alias), module) < 0)
		return CATALOG_NONE;
	return module;
}

uint32_t resolver_announce(struct resolver *resolver, const struct sampler_module_event *event, size_t size)
{
	struct catalog_module module = { .kind = SAMPLE_MODULE_FILE, .user = SAMPLE_USER_UNKNOWN };
	char comm[SAMPLER_COMM_BYTES + 1] = "";
	struct finder_answer answer;
	uint32_t number;

	if (!find(resolver, event, size, &answer))
		return CATALOG_NONE;
	memcpy(comm, event->event.comm, SAMPLER_COMM_BYTES);
	module.charged = event->event.user;
	module.file = finder_identity(&event->event.module);
	module.space = event->event.module.space;
	module.build_id = answer.build_id;
	module.path = answer.name;
	module.size = module.file.size;
	module.mtime_ns = answer.mtime_ns;
	if (mapped_file_kind(answer.name) == SAMPLE_MODULE_ANONYMOUS)
		number = catalog_anonymous(resolver->catalog, comm);
	else
		number = catalog_add_like(resolver->catalog, &module);
	return remember(resolver, event->event.number, SAMPLE_USER_UNKNOWN, number);
}

uint32_t resolver_find(struct resolver *resolver, uint32_t number, uint32_t user)
{
	struct alias alias = { number, user }, whose_ever = { number, SAMPLE_USER_UNKNOWN };
	uint32_t found = catalog_alias(resolver->catalog, &alias, sizeof(alias));
	struct catalog_module module;

	if (found != CATALOG_NONE)
		return found;
	found = catalog_alias(resolver->catalog, &whose_ever, sizeof(whose_ever));
	if (found == CATALOG_NONE)
		return CATALOG_NONE;
	module = *catalog_at(resolver->catalog, found);
	catalog_seen(resolver->catalog, found); /* others' samples need it, too */
	if (module.kind != SAMPLE_MODULE_FILE)
		return found;
	module.user = module.charged = user;
	module.tick_synchronous = false;
	return remember(resolver, number, user, catalog_add_like(resolver->catalog, &module));
}

int resolver_inode_of(const char *path, struct sampler_inode *ret)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct sampler_inode inode = { 0 };
	int generation = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (ioctl(fd, FS_IOC_GETVERSION, &generation) < 0)
		generation = 0;
	inode.inode = st.st_ino;
	inode.generation = (uint32_t)generation;
	*ret = inode;
	return 0;
}
