/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-strict DIRECTORY - a file system on DIRECTORY whose power can be cut, and whose writes can be made to fail
 *
 * Runs until it is unmounted. What programs see is what any file system shows; what a power cut leaves is in strict_tree.h.
 * It is told what to do by extended attributes of DIRECTORY, for root alone:
 *
 *	user.strict.cut-after	"N": power fails instead of the Nth step from now on; from then on every call fails
 *	user.strict.power	"off": it fails now; "on [SURVIVORS]": it comes back (survivors: strict_cut())
 *	user.strict.fail-at	"N once|on": the Nth call from now on that takes space fails with ENOSPC, and with "on" all that
 *				follow; "0 once": none does
 *	user.strict.state	to be read: "power=on|off steps=N spaces=N failed=N", counted since the last of these orders
 *
 * A step is a call that changes something or syncs. Files whose names end in ".img" never run out of space: a disk does not.
 */

#define FUSE_USE_VERSION 314
#define _GNU_SOURCE
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "bench/reliability/strict_tree.h"

#define CONTROL "user.strict."

static struct strict_tree *tree;
static struct {
	bool is_off, fails_on;
	unsigned long steps, spaces, failed, cut_after, fail_at;
} power;

static struct strict_node *node_of(fuse_ino_t ino)
{
	return strict_node(tree, ino);
}

/* An error that the call is answered with at once, or 0. */
static int step(bool takes_space, const struct strict_node *node)
{
	if (!power.is_off && power.cut_after && power.steps + 1 >= power.cut_after)
		power.is_off = true;
	if (power.is_off)
		return EIO;
	power.steps++;
	if (!takes_space || (node && node->is_disk))
		return 0;
	power.spaces++;
	if (!power.fail_at || (power.fails_on ? power.spaces < power.fail_at : power.spaces != power.fail_at))
		return 0;
	power.failed++;
	return ENOSPC;
}

static void attr_of(const struct strict_node *node, struct stat *ret)
{
	*ret = (struct stat){
		.st_ino = node->number,
		.st_mode = node->now.mode,
		.st_nlink = S_ISDIR(node->now.mode) ? 2 : node->n_links,
		.st_uid = node->now.uid,
		.st_gid = node->now.gid,
		.st_size = (off_t)node->now.size,
		.st_blksize = STRICT_BLOCK,
		.st_blocks = (blkcnt_t)((node->now.size + 511) / 512),
		.st_atim = node->now.accessed,
		.st_mtim = node->now.modified,
		.st_ctim = node->now.changed,
	};
}

static void entry_of(struct strict_node *node, struct fuse_entry_param *ret)
{
	*ret = (struct fuse_entry_param){ .ino = node->number };
	attr_of(node, &ret->attr);
}

static void answer(fuse_req_t req, int r)
{
	fuse_reply_err(req, r < 0 ? -r : r);
}

/* ---- names ---- */

static void do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct strict_node *node = power.is_off ? NULL : strict_find(node_of(parent), name);
	struct fuse_entry_param entry;

	if (!node) {
		answer(req, power.is_off ? EIO : ENOENT);
		return;
	}
	entry_of(node, &entry);
	fuse_reply_entry(req, &entry);
}

static int make(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct strict_node **ret)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	int r = step(true, NULL);

	return r ? -r : strict_make(tree, node_of(parent), name, mode, ctx->uid, ctx->gid, ret);
}

static void do_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fuse_entry_param entry;
	struct strict_node *node;
	int r = make(req, parent, name, S_IFDIR | (mode & 07777), &node);

	if (r < 0) {
		answer(req, r);
		return;
	}
	entry_of(node, &entry);
	fuse_reply_entry(req, &entry);
}

static void do_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	size_t length = strlen(name);
	bool is_disk = length > 4 && strcmp(name + length - 4, ".img") == 0;
	struct fuse_entry_param entry;
	struct strict_node *node;
	int r = make(req, parent, name, S_IFREG | (mode & 07777), &node);

	if (r < 0) {
		answer(req, r);
		return;
	}
	node->is_disk = is_disk;
	node->n_open++;
	entry_of(node, &entry);
	fuse_reply_create(req, &entry, fi);
}

static void do_remove(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	int r = step(false, NULL);

	answer(req, r ? r : strict_remove(node_of(parent), name));
}

static void do_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
		      const char *new_name, unsigned flags)
{
	int r = step(true, NULL);

	answer(req, r ? r : strict_rename(node_of(parent), name, node_of(to), new_name, flags));
}

/* All names at once, as they are when the directory is opened. */
struct listing {
	char *bytes;
	size_t size;
};

static void listing_add(fuse_req_t req, struct listing *listing, const char *name,
			const struct strict_node *node)
{
	size_t n = fuse_add_direntry(req, NULL, 0, name, NULL, 0);
	char *more = realloc(listing->bytes, listing->size + n);
	struct stat st;

	if (!more)
		return;
	attr_of(node, &st);
	listing->bytes = more;
	fuse_add_direntry(req, more + listing->size, n, name, &st, (off_t)(listing->size + n));
	listing->size += n;
}

static void do_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct listing *listing = power.is_off ? NULL : calloc(1, sizeof(*listing));
	const struct strict_node *node = node_of(ino);

	if (!listing) {
		answer(req, EIO);
		return;
	}
	listing_add(req, listing, ".", node);
	listing_add(req, listing, "..", node->parent ? node->parent : node);
	for (size_t i = 0; i < node->names.n; i++)
		listing_add(req, listing, node->names.list[i].name, node->names.list[i].node);
	fi->fh = (uint64_t)(uintptr_t)listing;
	fuse_reply_open(req, fi);
}

static void do_readdir(fuse_req_t req, _unused_ fuse_ino_t ino, size_t size, off_t at,
		       struct fuse_file_info *fi)
{
	const struct listing *listing = (const struct listing *)(uintptr_t)fi->fh;
	size_t from = MIN((size_t)at, listing->size);

	fuse_reply_buf(req, listing->bytes + from, MIN(size, listing->size - from));
}

static void do_releasedir(fuse_req_t req, _unused_ fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct listing *listing = (struct listing *)(uintptr_t)fi->fh;

	free(listing->bytes);
	free(listing);
	answer(req, 0);
}

/* ---- files ---- */

static void do_getattr(fuse_req_t req, fuse_ino_t ino, _unused_ struct fuse_file_info *fi)
{
	struct stat st;

	if (power.is_off && ino != FUSE_ROOT_ID) {
		answer(req, EIO);
		return;
	}
	attr_of(node_of(ino), &st);
	fuse_reply_attr(req, &st, 0);
}

static int attr_set(struct strict_node *node, const struct stat *attr, int which)
{
	int r = which & FUSE_SET_ATTR_SIZE ? strict_resize(node, (uint64_t)attr->st_size) : 0;

	strict_touch(node, false);
	if (which & FUSE_SET_ATTR_MODE)
		node->now.mode = (node->now.mode & S_IFMT) | (attr->st_mode & 07777);
	if (which & FUSE_SET_ATTR_UID)
		node->now.uid = attr->st_uid;
	if (which & FUSE_SET_ATTR_GID)
		node->now.gid = attr->st_gid;
	if (which & FUSE_SET_ATTR_ATIME)
		node->now.accessed = which & FUSE_SET_ATTR_ATIME_NOW ? node->now.changed : attr->st_atim;
	if (which & FUSE_SET_ATTR_MTIME)
		node->now.modified = which & FUSE_SET_ATTR_MTIME_NOW ? node->now.changed : attr->st_mtim;
	return r;
}

static void do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int which,
		       _unused_ struct fuse_file_info *fi)
{
	struct strict_node *node = node_of(ino);
	bool grows = which & FUSE_SET_ATTR_SIZE && (uint64_t)attr->st_size > node->now.size;
	int r = step(grows, node);
	struct stat st;

	if (r == 0)
		r = attr_set(node, attr, which);
	if (r) {
		answer(req, r);
		return;
	}
	attr_of(node, &st);
	fuse_reply_attr(req, &st, 0);
}

static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct strict_node *node = node_of(ino);

	if (power.is_off) {
		answer(req, EIO);
		return;
	}
	if (fi->flags & O_TRUNC)
		strict_resize(node, 0);
	node->n_open++;
	fuse_reply_open(req, fi);
}

static void do_release(fuse_req_t req, fuse_ino_t ino, _unused_ struct fuse_file_info *fi)
{
	strict_close(node_of(ino));
	answer(req, 0);
}

static void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at, _unused_ struct fuse_file_info *fi)
{
	char *bytes = power.is_off ? NULL : malloc(size);

	if (bytes)
		fuse_reply_buf(req, bytes, strict_read(node_of(ino), (uint64_t)at, bytes, size));
	else
		answer(req, EIO);
	free(bytes);
}

static void do_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t at,
		     _unused_ struct fuse_file_info *fi)
{
	struct strict_node *node = node_of(ino);
	int r = step(true, node);

	if (r == 0)
		r = -strict_write(node, (uint64_t)at, bytes, size);
	if (r)
		answer(req, r);
	else
		fuse_reply_write(req, size);
}

static void do_fsync(fuse_req_t req, fuse_ino_t ino, _unused_ int only_data,
		     _unused_ struct fuse_file_info *fi)
{
	struct strict_node *node = node_of(ino);
	int r = step(true, node);

	answer(req, r ? r : strict_sync(node));
}

static void do_statfs(fuse_req_t req, _unused_ fuse_ino_t ino)
{
	struct statvfs fs = { .f_bsize = STRICT_BLOCK,
			      .f_frsize = STRICT_BLOCK,
			      .f_blocks = 1 << 20,
			      .f_bfree = 1 << 19,
			      .f_bavail = 1 << 19,
			      .f_namemax = 255 };

	fuse_reply_statfs(req, &fs);
}

/* ---- extended attributes, and orders among them ---- */

static int order(const char *what, const char *text)
{
	unsigned long number = 0;
	char word[8] = "";

	if (strcmp(what, "power") == 0) {
		if (sscanf(text, "%7s %lu", word, &number) < 1 || number > 100)
			return EINVAL;
		power.is_off = strcmp(word, "off") == 0;
		power.cut_after = power.steps = 0;
		return power.is_off ? 0 : -strict_cut(tree, (unsigned)number);
	}
	if (sscanf(text, "%lu %7s", &number, word) < 1)
		return EINVAL;
	power.steps = power.spaces = power.failed = 0;
	if (strcmp(what, "cut-after") == 0)
		power.cut_after = number;
	else if (strcmp(what, "fail-at") == 0)
		power.fail_at = number;
	else
		return ENODATA;
	power.fails_on = strcmp(word, "on") == 0;
	return 0;
}

static void do_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
			_unused_ int flags)
{
	struct strict_node *node = node_of(ino);
	char text[64];
	int r;

	if (ino == FUSE_ROOT_ID && strncmp(name, CONTROL, strlen(CONTROL)) == 0) {
		snprintf(text, sizeof(text), "%.*s", (int)MIN(size, sizeof(text) - 1), value);
		answer(req, order(name + strlen(CONTROL), text));
		return;
	}
	r = step(true, node);
	answer(req, r ? r : strict_attribute_set(node, name, value, size));
}

static void bytes_answer(fuse_req_t req, const void *bytes, size_t n, size_t size)
{
	if (size == 0)
		fuse_reply_xattr(req, n);
	else if (n > size)
		answer(req, ERANGE);
	else
		fuse_reply_buf(req, bytes, n);
}

static void do_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	const struct strict_about *about = &node_of(ino)->now;
	char text[128];

	if (ino == FUSE_ROOT_ID && strcmp(name, CONTROL "state") == 0) {
		int n = snprintf(text, sizeof(text), "power=%s steps=%lu spaces=%lu failed=%lu",
				 power.is_off ? "off" : "on", power.steps, power.spaces, power.failed);

		bytes_answer(req, text, (size_t)n, size);
		return;
	}
	for (size_t i = 0; !power.is_off && i < about->n_attributes; i++) {
		if (strcmp(about->attributes[i].name, name) == 0) {
			bytes_answer(req, about->attributes[i].value, about->attributes[i].size, size);
			return;
		}
	}
	answer(req, power.is_off ? EIO : ENODATA);
}

static void do_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	const struct strict_about *about = &node_of(ino)->now;
	char names[4096];
	size_t n = 0;

	for (size_t i = 0; i < about->n_attributes; i++) {
		size_t length = strlen(about->attributes[i].name) + 1;

		if (n + length > sizeof(names))
			break;
		memcpy(names + n, about->attributes[i].name, length);
		n += length;
	}
	bytes_answer(req, names, n, size);
}

static void do_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	int r = step(false, NULL);

	answer(req, r ? r : strict_attribute_remove(node_of(ino), name));
}

static const struct fuse_lowlevel_ops operations = {
	.lookup = do_lookup,
	.getattr = do_getattr,
	.setattr = do_setattr,
	.mkdir = do_mkdir,
	.unlink = do_remove,
	.rmdir = do_remove,
	.rename = do_rename,
	.create = do_create,
	.open = do_open,
	.read = do_read,
	.write = do_write,
	.release = do_release,
	.fsync = do_fsync,
	.opendir = do_opendir,
	.readdir = do_readdir,
	.releasedir = do_releasedir,
	.fsyncdir = do_fsync,
	.statfs = do_statfs,
	.setxattr = do_setxattr,
	.getxattr = do_getxattr,
	.listxattr = do_listxattr,
	.removexattr = do_removexattr,
};

int main(int argc, char **argv)
{
	char *words[] = { argv[0], (char *)"-o",
			  (char *)"default_permissions,allow_other,suid,dev,fsname=strict" };
	struct fuse_args args = FUSE_ARGS_INIT(3, words);
	struct fuse_session *session;
	int code = 1;

	if (argc != 2) {
		fprintf(stderr, "usage: bench-strict DIRECTORY\n");
		return 2;
	}
	tree = strict_tree_new();
	session = tree ? fuse_session_new(&args, &operations, sizeof(operations), NULL) : NULL;
	fuse_opt_free_args(&args);
	if (!session || fuse_session_mount(session, argv[1]) < 0) {
		fprintf(stderr, "bench-strict: %s: cannot mount; is there /dev/fuse, and are you root?\n",
			argv[1]);
		return 1;
	}
	if (fuse_set_signal_handlers(session) == 0)
		code = fuse_session_loop(session);
	fuse_session_unmount(session);
	fuse_session_destroy(session);
	return code != 0;
}
