/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "bench/reliability/strict_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct timespec now(void)
{
	struct timespec ret;

	clock_gettime(CLOCK_REALTIME, &ret);
	return ret;
}

void strict_touch(struct strict_node *node, bool content)
{
	node->now.changed = now();
	if (content)
		node->now.modified = node->now.changed;
}

/* ---- attributes ---- */

static void attributes_free(struct strict_about *about)
{
	for (size_t i = 0; i < about->n_attributes; i++) {
		free(about->attributes[i].name);
		free(about->attributes[i].value);
	}
	free(about->attributes);
	about->attributes = NULL;
	about->n_attributes = 0;
}

static int attribute_add(struct strict_about *about, const char *name, const void *value, size_t size)
{
	struct strict_attribute *more =
		reallocarray(about->attributes, about->n_attributes + 1, sizeof(*more));
	struct strict_attribute *added;

	if (!more)
		return -ENOMEM;
	about->attributes = more;
	added = &more[about->n_attributes];
	*added = (struct strict_attribute){ strdup(name), malloc(size + 1), size };
	if (!added->name || !added->value)
		return -ENOMEM;
	memcpy(added->value, value, size);
	about->n_attributes++;
	return 0;
}

int strict_attribute_remove(struct strict_node *node, const char *name)
{
	struct strict_about *about = &node->now;

	for (size_t i = 0; i < about->n_attributes; i++) {
		if (strcmp(about->attributes[i].name, name) != 0)
			continue;
		free(about->attributes[i].name);
		free(about->attributes[i].value);
		about->attributes[i] = about->attributes[--about->n_attributes];
		strict_touch(node, false);
		return 0;
	}
	return -ENODATA;
}

int strict_attribute_set(struct strict_node *node, const char *name, const void *value, size_t size)
{
	strict_attribute_remove(node, name);
	strict_touch(node, false);
	return attribute_add(&node->now, name, value, size);
}

static int about_copy(struct strict_about *to, const struct strict_about *from)
{
	int r = 0;

	attributes_free(to);
	*to = *from;
	to->attributes = NULL;
	to->n_attributes = 0;
	for (size_t i = 0; r == 0 && i < from->n_attributes; i++)
		r = attribute_add(to, from->attributes[i].name, from->attributes[i].value,
				  from->attributes[i].size);
	return r;
}

/* ---- bytes ---- */

static void block_free(struct strict_block *block)
{
	if (block->now != block->kept)
		free(block->now);
	free(block->kept);
	*block = (struct strict_block){ 0 };
}

/* Nobody can reach the node any more, also not after a power cut. */
static void node_empty(struct strict_node *node)
{
	if (node->n_links || node->n_kept_links || node->n_open || node->number == 1)
		return;
	for (size_t i = 0; i < node->n_blocks; i++)
		block_free(&node->blocks[i]);
	free(node->blocks);
	node->blocks = NULL;
	node->n_blocks = node->n_changed = 0;
	node->now.size = node->kept.size = 0;
}

void strict_close(struct strict_node *node)
{
	node->n_open--;
	node_empty(node);
}

static int changed_note(struct strict_node *file, size_t i)
{
	if (file->n_changed == file->n_changed_max) {
		size_t max = MAX(2 * file->n_changed_max, (size_t)64);
		size_t *more = reallocarray(file->changed, max, sizeof(*more));

		if (!more)
			return -ENOMEM;
		file->changed = more;
		file->n_changed_max = max;
	}
	file->changed[file->n_changed++] = i;
	return 0;
}

/* Block @i, to be written to. */
static uint8_t *block_open(struct strict_node *file, size_t i)
{
	struct strict_block *block;

	if (i >= file->n_blocks) {
		size_t n = MAX(i + 1, 2 * file->n_blocks);
		struct strict_block *more = reallocarray(file->blocks, n, sizeof(*more));

		if (!more)
			return NULL;
		memset(more + file->n_blocks, 0, (n - file->n_blocks) * sizeof(*more));
		file->blocks = more;
		file->n_blocks = n;
	}
	block = &file->blocks[i];
	if (block->now == block->kept) {
		uint8_t *copy = calloc(1, STRICT_BLOCK);

		if (!copy || changed_note(file, i) < 0) {
			free(copy);
			return NULL;
		}
		if (block->kept)
			memcpy(copy, block->kept, STRICT_BLOCK);
		block->now = copy;
	} else if (!block->now) { /* cut off and written anew */
		block->now = calloc(1, STRICT_BLOCK);
	}
	return block->now;
}

size_t strict_read(const struct strict_node *file, uint64_t at, void *ret, size_t size)
{
	size_t done = 0;

	if (at >= file->now.size)
		return 0;
	size = MIN(size, (size_t)(file->now.size - at));
	while (done < size) {
		size_t i = (at + done) / STRICT_BLOCK, within = (at + done) % STRICT_BLOCK;
		size_t n = MIN(size - done, STRICT_BLOCK - within);
		const uint8_t *block = i < file->n_blocks ? file->blocks[i].now : NULL;

		if (block)
			memcpy((uint8_t *)ret + done, block + within, n);
		else
			memset((uint8_t *)ret + done, 0, n);
		done += n;
	}
	return size;
}

int strict_write(struct strict_node *file, uint64_t at, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		size_t i = (at + done) / STRICT_BLOCK, within = (at + done) % STRICT_BLOCK;
		size_t n = MIN(size - done, STRICT_BLOCK - within);
		uint8_t *block = block_open(file, i);

		if (!block)
			return -ENOMEM;
		memcpy(block + within, (const uint8_t *)bytes + done, n);
		done += n;
	}
	file->now.size = MAX(file->now.size, at + size);
	strict_touch(file, true);
	return 0;
}

int strict_resize(struct strict_node *file, uint64_t size)
{
	size_t first = (size + STRICT_BLOCK - 1) / STRICT_BLOCK, within = size % STRICT_BLOCK;

	if (size < file->now.size && within && first - 1 < file->n_blocks && file->blocks[first - 1].now) {
		uint8_t *block = block_open(file, first - 1);

		if (!block)
			return -ENOMEM;
		memset(block + within, 0, STRICT_BLOCK - within);
	}
	for (size_t i = first; i < file->n_blocks; i++) {
		struct strict_block *block = &file->blocks[i];

		if (!block->now)
			continue;
		if (block->now != block->kept)
			free(block->now);
		else if (changed_note(file, i) < 0)
			return -ENOMEM;
		block->now = NULL;
	}
	file->now.size = size;
	strict_touch(file, true);
	return 0;
}

/* ---- names ---- */

static struct strict_entry *entry_find(const struct strict_entries *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->list[i].name, name) == 0)
			return &names->list[i];
	return NULL;
}

static int entry_add(struct strict_entries *names, const char *name, struct strict_node *node)
{
	struct strict_entry *more = reallocarray(names->list, names->n + 1, sizeof(*more));
	char *copy = strdup(name);

	if (more)
		names->list = more;
	if (!more || !copy) {
		free(copy);
		return -ENOMEM;
	}
	names->list[names->n++] = (struct strict_entry){ copy, node };
	return 0;
}

static void entry_drop(struct strict_entries *names, struct strict_entry *entry)
{
	free(entry->name);
	*entry = names->list[--names->n];
}

struct strict_node *strict_find(const struct strict_node *directory, const char *name)
{
	const struct strict_entry *entry = entry_find(&directory->names, name);

	return entry ? entry->node : NULL;
}

struct strict_node *strict_node(const struct strict_tree *tree, uint64_t number)
{
	return number && number <= tree->n_nodes ? tree->nodes[number - 1] : NULL;
}

static int node_new(struct strict_tree *tree, mode_t mode, uid_t uid, gid_t gid, struct strict_node **ret)
{
	struct strict_node **more =
		reallocarray(tree->nodes, tree->n_nodes + 1, sizeof(struct strict_node *));
	struct strict_node *node = calloc(1, sizeof(*node));

	if (more)
		tree->nodes = more;
	if (!more || !node) {
		free(node);
		return -ENOMEM;
	}
	node->number = tree->n_nodes + 1;
	node->now.mode = mode;
	node->now.uid = uid;
	node->now.gid = gid;
	strict_touch(node, true);
	node->now.accessed = node->now.modified;
	node->kept = node->now;
	tree->nodes[tree->n_nodes++] = node;
	*ret = node;
	return 0;
}

struct strict_tree *strict_tree_new(void)
{
	struct strict_tree *tree = calloc(1, sizeof(*tree));
	struct strict_node *root;

	return tree && node_new(tree, S_IFDIR | 0755, 0, 0, &root) == 0 ? tree : NULL;
}

int strict_make(struct strict_tree *tree, struct strict_node *directory, const char *name, mode_t mode,
		uid_t uid, gid_t gid, struct strict_node **ret)
{
	int r = strict_find(directory, name) ? -EEXIST : node_new(tree, mode, uid, gid, ret);

	if (r == 0)
		r = entry_add(&directory->names, name, *ret);
	if (r < 0)
		return r;
	(*ret)->parent = directory;
	(*ret)->n_links = 1;
	strict_touch(directory, true);
	return 0;
}

int strict_remove(struct strict_node *directory, const char *name)
{
	struct strict_entry *entry = entry_find(&directory->names, name);
	struct strict_node *node = entry ? entry->node : NULL;

	if (!node)
		return -ENOENT;
	if (S_ISDIR(node->now.mode) && node->names.n)
		return -ENOTEMPTY;
	entry_drop(&directory->names, entry);
	node->n_links--;
	strict_touch(node, false);
	strict_touch(directory, true);
	node_empty(node);
	return 0;
}

static int exchange(struct strict_node *from, struct strict_entry *a, struct strict_node *to,
		    struct strict_entry *b)
{
	struct strict_node *node = a->node;

	a->node = b->node;
	b->node = node;
	a->node->parent = from;
	b->node->parent = to;
	strict_touch(a->node, false);
	strict_touch(b->node, false);
	strict_touch(from, true);
	strict_touch(to, true);
	return 0;
}

int strict_rename(struct strict_node *from, const char *name, struct strict_node *to, const char *new_name,
		  unsigned flags)
{
	struct strict_entry *entry = entry_find(&from->names, name),
			    *there = entry_find(&to->names, new_name);
	struct strict_node *node = entry ? entry->node : NULL;
	int r;

	if (!node || (flags == RENAME_EXCHANGE && !there))
		return -ENOENT;
	if (flags == RENAME_EXCHANGE)
		return exchange(from, entry, to, there);
	if (there && flags == RENAME_NOREPLACE)
		return -EEXIST;
	if (there && there->node == node)
		return 0;
	r = there ? strict_remove(to, new_name) : 0;
	if (r == 0)
		r = entry_add(&to->names, new_name, node);
	if (r < 0)
		return r;
	entry_drop(&from->names, entry_find(&from->names, name));
	node->parent = to;
	strict_touch(node, false);
	strict_touch(from, true);
	strict_touch(to, true);
	return 0;
}

/* ---- what is kept ---- */

/* The names of @from, in the place of those of @to; links are counted in n_kept_links (@kept) or n_links. */
static int names_copy(struct strict_entries *to, const struct strict_entries *from, bool kept)
{
	struct strict_entries before = *to;
	int r = 0;

	*to = (struct strict_entries){ 0 };
	for (size_t i = 0; r == 0 && i < from->n; i++) {
		r = entry_add(to, from->list[i].name, from->list[i].node);
		*(kept ? &from->list[i].node->n_kept_links : &from->list[i].node->n_links) += 1;
	}
	for (size_t i = 0; i < before.n; i++) {
		struct strict_node *node = before.list[i].node;

		*(kept ? &node->n_kept_links : &node->n_links) -= 1;
		node_empty(node);
		free(before.list[i].name);
	}
	free(before.list);
	return r;
}

/* The changed blocks of @file: @survives(one) decides whether it is kept as it is now. */
static void blocks_settle(struct strict_node *file, bool (*survives)(unsigned), unsigned survivors)
{
	for (size_t i = 0; i < file->n_changed; i++) {
		struct strict_block *block = &file->blocks[file->changed[i]];

		if (block->now == block->kept)
			continue;
		if (survives(survivors)) {
			free(block->kept);
			block->kept = block->now;
		} else {
			free(block->now);
			block->now = block->kept;
		}
	}
	file->n_changed = 0;
}

/* The same in every run: Knuth's generator for 64 bits. */
static bool by_chance(unsigned survivors)
{
	static uint64_t state = 1997;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % 100 < survivors;
}

static bool always(_unused_ unsigned survivors)
{
	return true;
}

int strict_sync(struct strict_node *node)
{
	int r = S_ISDIR(node->now.mode) ? names_copy(&node->kept_names, &node->names, true) : 0;

	blocks_settle(node, always, 0);
	return r < 0 ? r : about_copy(&node->kept, &node->now);
}

/* Some names reach the disk without being asked to. */
static int names_survive(struct strict_node *directory, unsigned survivors)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < directory->names.n; i++) {
		const struct strict_entry *entry = &directory->names.list[i];
		struct strict_entry *kept = entry_find(&directory->kept_names, entry->name);

		if ((kept && kept->node == entry->node) || !by_chance(survivors))
			continue;
		if (kept) {
			kept->node->n_kept_links--;
			kept->node = entry->node;
		} else {
			r = entry_add(&directory->kept_names, entry->name, entry->node);
		}
		entry->node->n_kept_links++;
	}
	return r;
}

static int node_cut(struct strict_node *node, unsigned survivors)
{
	int r = 0;

	if (S_ISDIR(node->now.mode)) {
		r = names_survive(node, survivors);
		if (r == 0)
			r = names_copy(&node->names, &node->kept_names, false);
		for (size_t i = 0; i < node->names.n; i++)
			node->names.list[i].node->parent = node;
	}
	if (by_chance(survivors))
		node->kept.size = node->now.size;
	blocks_settle(node, by_chance, survivors);
	return r < 0 ? r : about_copy(&node->now, &node->kept);
}

int strict_cut(struct strict_tree *tree, unsigned survivors)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < tree->n_nodes; i++)
		r = node_cut(tree->nodes[i], survivors);
	for (size_t i = 0; i < tree->n_nodes; i++)
		node_empty(tree->nodes[i]);
	return r;
}
