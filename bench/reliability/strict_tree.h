/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * strict_tree.h - files and directories in memory, each as programs see it and as a power cut leaves it
 *
 * Nothing is kept but what POSIX promises: the bytes, size, owner, mode, times and extended attributes of a file when that
 * file was synced, the names in a directory when that directory was synced. A file whose name was kept and which was never
 * synced itself is empty; a directory likewise. All functions but strict_tree_new() return 0 or -errno.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/macro.h"

#define STRICT_BLOCK 4096u

struct strict_node;

struct strict_entry {
	char *name; /* owned */
	struct strict_node *node;
};

struct strict_entries {
	struct strict_entry *list;
	size_t n;
};

struct strict_attribute {
	char *name; /* owned */
	uint8_t *value;
	size_t size;
};

/* What is known of a node beside its bytes and names. */
struct strict_about {
	mode_t mode;
	uid_t uid;
	gid_t gid;
	uint64_t size;
	struct timespec accessed, modified, changed;
	struct strict_attribute *attributes; /* owned */
	size_t n_attributes;
};

/* Equal pointers: the block is as it was synced. NULL: zeros. */
struct strict_block {
	uint8_t *now, *kept;
};

struct strict_node {
	uint64_t number; /* of the inode; the root's is 1 */
	bool is_disk;	 /* the caller's: its writes never run out of space */
	struct strict_node *parent;
	struct strict_about now, kept;
	struct strict_block *blocks; /* of a file */
	size_t n_blocks;
	size_t *changed; /* blocks that differ from what is kept; some may be named twice */
	size_t n_changed, n_changed_max;
	struct strict_entries names, kept_names; /* of a directory */
	unsigned n_links, n_kept_links, n_open;
};

struct strict_tree {
	struct strict_node **nodes; /* by number; never freed, but emptied when nobody can reach them */
	size_t n_nodes;
};

struct strict_tree *strict_tree_new(void); /* with a root; NULL: no memory */
struct strict_node *strict_node(const struct strict_tree *tree, uint64_t number);

struct strict_node *strict_find(const struct strict_node *directory, const char *name); /* NULL: none */
int strict_make(struct strict_tree *tree, struct strict_node *directory, const char *name, mode_t mode,
		uid_t uid, gid_t gid, struct strict_node **ret);
int strict_remove(struct strict_node *directory, const char *name);
/** strict_rename() - @flags as renameat2(2): 0, RENAME_NOREPLACE or RENAME_EXCHANGE */
int strict_rename(struct strict_node *from, const char *name, struct strict_node *to, const char *new_name,
		  unsigned flags);

size_t strict_read(const struct strict_node *file, uint64_t at, void *ret, size_t size);
int strict_write(struct strict_node *file, uint64_t at, const void *bytes, size_t size);
int strict_resize(struct strict_node *file, uint64_t size);
int strict_attribute_set(struct strict_node *node, const char *name, const void *value, size_t size);
int strict_attribute_remove(struct strict_node *node, const char *name);
void strict_touch(struct strict_node *node, bool content); /* its times */
void strict_close(struct strict_node *node);		   /* the opposite of n_open++ */

/** strict_sync() - what programs see of @node is kept from now on */
int strict_sync(struct strict_node *node);

/**
 * strict_cut() - power fails: everything becomes what is kept
 * @survivors: percent of the changed blocks, names and sizes that had got to the disk all the same, by chance
 */
int strict_cut(struct strict_tree *tree, unsigned survivors);
