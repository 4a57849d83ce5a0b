/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/identify/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "monitor/identify/identity.h"

#define DELETED " (deleted)"

/* What alias a mapping has in the catalog: everything it told, then its name. */
struct alias_head {
	struct build_id build_id;
	uint64_t inode;
	uint32_t major, minor;
};

enum sample_module_kind mapped_file_kind(const char *name)
{
	/* SysV shared memory, memfd and /dev/zero have an inode, yet hold nothing but generated code. */
	static const char *const generated[] = { "//anon", "/anon_hugepage", "/dev/zero", "/memfd:",
						 "/SYSV",  "/[aio]",	     "//toolong", "anon_inode:" };

	if (strcmp(name, "[vdso]") == 0)
		return SAMPLE_MODULE_VDSO;
	for (size_t i = 0; i < ARRAY_SIZE(generated); i++)
		if (strncmp(name, generated[i], strlen(generated[i])) == 0)
			return SAMPLE_MODULE_ANONYMOUS;
	return name[0] == '/' ? SAMPLE_MODULE_FILE : SAMPLE_MODULE_ANONYMOUS;
}

static bool agrees(const struct mapped_file *file, const struct identity *identity)
{
	if (file->build_id.size)
		return build_id_is_equal(&file->build_id, &identity->build_id);
	return file->inode && file->inode == identity->inode;
}

/* Only device and inode that the kernel itself told of the mapping say which file it was; a build ID does not. */
static void which(const struct mapped_file *file, int fd, struct file_identity *ret)
{
	struct file_identity found;

	if (file->inode && file_identity_of_fd(fd, &found) == 0 && found.inode == file->inode &&
	    found.device == makedev(file->major, file->minor))
		*ret = found;
}

static bool try_path(const struct mapped_file *file, const char *path, struct identity *ret,
		     struct file_identity *retfile)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || identity_of_fd(fd, ret) < 0 || !agrees(file, ret))
		return false;
	which(file, fd, retfile);
	return true;
}

static bool identify(const struct mapped_file *file, const char *name, struct identity *ret,
		     struct file_identity *retfile)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "/proc/%d/root%s", file->pid, name);
	if (try_path(file, path, ret, retfile) || try_path(file, name, ret, retfile))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, file->pid, file->start,
		 file->end);
	return try_path(file, path, ret, retfile);
}

static uint32_t file_module(struct catalog *catalog, const struct mapped_file *file)
{
	_clean_(freep) char *name = strdup(file->name);
	size_t length = strlen(file->name), suffix = strlen(DELETED);
	struct identity identity = { .build_id = file->build_id };
	struct catalog_module module = { .kind = SAMPLE_MODULE_FILE,
					 .user = SAMPLE_USER_UNKNOWN,
					 .charged = SAMPLE_USER_UNKNOWN };

	if (!name)
		return CATALOG_NONE;
	if (length > suffix && strcmp(name + length - suffix, DELETED) == 0)
		name[length - suffix] = '\0';
	if (!identify(file, name, &identity, &module.file))
		identity = (struct identity){ .build_id = file->build_id, .inode = file->inode };
	module.build_id = identity.build_id;
	module.path = name;
	module.size = identity.size;
	module.mtime_ns = identity.mtime_ns;
	return catalog_add_like(catalog, &module);
}

uint32_t mapped_file_module(struct catalog *catalog, const struct mapped_file *file)
{
	size_t n_name = strlen(file->name), size = sizeof(struct alias_head) + n_name;
	_clean_(freep) uint8_t *key = calloc(1, size);
	struct alias_head head;
	uint32_t module;

	switch (mapped_file_kind(file->name)) {
	case SAMPLE_MODULE_VDSO: return catalog_vdso(catalog);
	case SAMPLE_MODULE_ANONYMOUS: return catalog_anonymous(catalog, file->comm);
	default: break;
	}
	if (!key)
		return CATALOG_NONE;
	memset(&head, 0, sizeof(head)); /* padding takes part in the comparison */
	head.build_id = file->build_id;
	head.inode = file->inode;
	head.major = file->major;
	head.minor = file->minor;
	memcpy(key, &head, sizeof(head));
	memcpy(key + sizeof(head), file->name, n_name);
	module = catalog_alias(catalog, key, size);
	if (module != CATALOG_NONE)
		return module;
	module = file_module(catalog, file);
	if (module != CATALOG_NONE && catalog_set_alias(catalog, key, size, module) < 0)
		return CATALOG_NONE;
	return module;
}
