/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "monitor/identity.h"
#include "monitor/mapped_file.h"

#define DELETED " (deleted)"

struct resolver {
	char *root;		 /* owned */
	struct catalog *catalog; /* borrowed; inodes are its aliases */
};

struct resolver *resolver_new(const char *root, struct catalog *catalog)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return NULL;
	resolver->catalog = catalog;
	resolver->root = strdup(root);
	if (!resolver->root) {
		free(resolver);
		return NULL;
	}
	return resolver;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	free(resolver->root);
	free(resolver);
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

/* Many file systems have no generation: then the inode number must do. */
static bool generation_agrees(int fd, uint32_t generation)
{
	int found;

	return ioctl(fd, FS_IOC_GETVERSION, &found) < 0 || (uint32_t)found == generation;
}

static bool try_open(const char *path, const struct sampler_inode *inode, struct identity *ret)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd >= 0 && identity_of_fd(fd, ret) == 0 && ret->inode == inode->inode &&
	       generation_agrees(fd, inode->generation);
}

/* The name of a map_files link, without the kernel's remark. */
static bool link_name(const char *link, char *ret)
{
	ssize_t n = readlink(link, ret, PATH_MAX - 1);
	size_t suffix = strlen(DELETED);

	if (n <= 0)
		return false;
	ret[n] = '\0';
	if ((size_t)n > suffix && strcmp(ret + n - suffix, DELETED) == 0)
		ret[(size_t)n - suffix] = '\0';
	return true;
}

static bool identify(const struct resolver *resolver, const struct sampler_module_event *event,
		     const char *walked, struct identity *identity, char *name)
{
	const struct sampler_event *e = &event->event;
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/%u/map_files/%" PRIx64 "-%" PRIx64, resolver->root, e->tgid,
		 (uint64_t)e->start, (uint64_t)e->end);
	if (try_open(path, &e->module, identity) && link_name(path, name))
		return true;
	if (!walked[0])
		return false;
	strcpy(name, walked);
	snprintf(path, sizeof(path), "%s/proc/%u/root%s", resolver->root, e->tgid, walked);
	if (try_open(path, &e->module, identity))
		return true;
	snprintf(path, sizeof(path), "%s%s", resolver->root, walked);
	return try_open(path, &e->module, identity);
}

uint32_t resolver_announce(struct resolver *resolver, const struct sampler_module_event *event,
			   size_t size)
{
	char walked[PATH_MAX] = "", name[PATH_MAX], comm[SAMPLER_COMM_BYTES + 1] = "";
	struct identity identity;
	uint32_t module;

	if (size < sizeof(*event))
		return CATALOG_NONE;
	if (!resolver_path(event, size, walked))
		walked[0] = '\0';
	if (!identify(resolver, event, walked, &identity, name))
		return CATALOG_NONE;
	memcpy(comm, event->event.comm, SAMPLER_COMM_BYTES);
	if (mapped_file_kind(name) == SAMPLE_MODULE_ANONYMOUS)
		module = catalog_anonymous(resolver->catalog, comm);
	else
		module = catalog_add(resolver->catalog, SAMPLE_MODULE_FILE, &identity.build_id, name,
				     identity.size, identity.mtime_ns);
	if (module != CATALOG_NONE &&
	    catalog_set_alias(resolver->catalog, &event->event.module, sizeof(event->event.module),
			      module) < 0)
		return CATALOG_NONE;
	return module;
}

uint32_t resolver_find(const struct resolver *resolver, const struct sampler_inode *inode)
{
	return catalog_alias(resolver->catalog, inode, sizeof(*inode));
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

bool resolver_is_stale(const struct resolver *resolver, const struct sampler_inode *inode,
		       uint32_t number)
{
	const struct catalog_module *module = catalog_at(resolver->catalog, number);
	char path[2 * PATH_MAX];
	struct stat st;

	if (!module || module->kind != SAMPLE_MODULE_FILE)
		return false;
	snprintf(path, sizeof(path), "%s%s", resolver->root, module->path);
	/* Another inode under this path is a replaced file: ours is still what it was. */
	if (lstat(path, &st) < 0 || st.st_ino != inode->inode)
		return false;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec !=
	       module->mtime_ns;
}
