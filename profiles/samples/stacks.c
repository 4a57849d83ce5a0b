/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/samples/stacks.h"

#include <errno.h>
#include <string.h>

#include "module/array.h"
#include "profiles/samples/sample_log.h"

#define PATH_MAX_BYTES 65536u
#define IMAGE_MIN_BYTES 7u /* kind, two lengths, size, time, mount namespace, user */
#define NODE_MIN_BYTES 4u

void stacks_done(struct stacks *stacks)
{
	for (size_t i = 0; i < stacks->n_images; i++)
		free(stacks->images[i].path);
	free(stacks->images);
	free(stacks->nodes);
	interned_done(&stacks->images_index);
	interned_done(&stacks->nodes_index);
	*stacks = (struct stacks){ 0 };
}

const char *stack_cut_name(uint64_t cut)
{
	return cut == STACK_CUT_DEEP	? "[deeper than is kept]" :
	       cut == STACK_CUT_NO_CODE ? "[no frame pointer]" :
					  "[unknown]";
}

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* --- images --------------------------------------------------------------------------------------- */

static bool image_is(const struct sample_module *a, const struct sample_module *b)
{
	return a->kind == b->kind && a->space == b->space && a->user == b->user &&
	       a->file_size == b->file_size && a->mtime_ns == b->mtime_ns &&
	       build_id_is_equal(&a->build_id, &b->build_id) && strcmp(a->path, b->path) == 0;
}

static uint64_t image_hash(struct stacks *stacks, const struct sample_module *image)
{
	uint64_t path = interned_hash(&stacks->images_index, image->path, strlen(image->path));

	return interned_numbers_hash(&stacks->images_index, path,
				     (uint64_t)image->user << 32 | (uint32_t)image->kind);
}

uint32_t stacks_image(struct stacks *stacks, const struct sample_module *like)
{
	uint64_t hash = image_hash(stacks, like), at = hash;
	struct sample_module *image;
	uint32_t number;

	while ((number = interned_next(&stacks->images_index, hash, &at)) != INTERNED_NONE)
		if (image_is(&stacks->images[number], like))
			return number;
	if (stacks->n_images == STACKS_MAX_IMAGES ||
	    !array_reserve(stacks->images, stacks->n_images, &stacks->images_capacity))
		return INTERNED_NONE;
	image = &stacks->images[stacks->n_images];
	*image = (struct sample_module){ .kind = like->kind,
					 .build_id = like->build_id,
					 .path = strdup(like->path),
					 .file_size = like->file_size,
					 .mtime_ns = like->mtime_ns,
					 .space = like->space,
					 .user = like->user };
	if (!image->path || interned_put(&stacks->images_index, hash, (uint32_t)stacks->n_images) < 0) {
		free(image->path);
		return INTERNED_NONE;
	}
	return (uint32_t)stacks->n_images++;
}

uint32_t stacks_special(struct stacks *stacks, int kind, const char *name, uint32_t user)
{
	struct sample_module like = { .kind = (enum sample_module_kind)kind,
				      .path = (char *)name,
				      .user = user };

	return stacks_image(stacks, &like);
}

/* --- nodes ---------------------------------------------------------------------------------------- */

static uint64_t node_hash(struct stacks *stacks, uint32_t parent, const struct stack_frame *frame)
{
	return interned_numbers_hash(&stacks->nodes_index, (uint64_t)parent << 32 | frame->image,
				     frame->offset);
}

static uint32_t node_find(struct stacks *stacks, uint32_t parent, const struct stack_frame *frame,
			  uint64_t hash)
{
	uint64_t at = hash;
	uint32_t number;

	while ((number = interned_next(&stacks->nodes_index, hash, &at)) != INTERNED_NONE) {
		const struct stack_node *node = &stacks->nodes[number];

		if (node->parent == parent && node->frame.image == frame->image &&
		    node->frame.offset == frame->offset)
			break;
	}
	return number;
}

/* Return: 1: it is there; 0: there is no room; -ENOMEM. */
static int node_intern(struct stacks *stacks, uint32_t parent, const struct stack_frame *frame, uint32_t *ret)
{
	uint64_t hash = node_hash(stacks, parent, frame);

	*ret = node_find(stacks, parent, frame, hash);
	if (*ret != INTERNED_NONE)
		return 1;
	if (stacks->n_nodes == STACKS_MAX_NODES)
		return 0;
	if (!array_reserve(stacks->nodes, stacks->n_nodes, &stacks->nodes_capacity) ||
	    interned_put(&stacks->nodes_index, hash, (uint32_t)stacks->n_nodes) < 0)
		return -ENOMEM;
	*ret = (uint32_t)stacks->n_nodes;
	stacks->nodes[stacks->n_nodes++] = (struct stack_node){ .frame = *frame, .parent = parent };
	return 1;
}

static void node_count(struct stacks *stacks, uint32_t node, uint64_t count)
{
	stacks->nodes[node].count = add(stacks->nodes[node].count, count);
	stacks->n_samples = add(stacks->n_samples, count);
}

int stacks_add(struct stacks *stacks, const struct stack_frame *frames, size_t n, uint64_t count)
{
	uint32_t node = STACKS_ROOT;
	int r = n > 0 && n <= STACKS_MAX_FRAMES;

	for (size_t i = 0; r > 0 && i < n; i++)
		r = frames[i].image == INTERNED_NONE ? 0 : node_intern(stacks, node, &frames[i], &node);
	if (r > 0)
		node_count(stacks, node, count);
	else if (r == 0)
		stacks->n_lost = add(stacks->n_lost, count);
	return MIN(r, 0);
}

/* Parents come first in @from, so each knows its number here already; INTERNED_NONE: there was no room for it. */
int stacks_merge(struct stacks *into, const struct stacks *from, double worth)
{
	_clean_(freep) uint32_t *images = calloc(from->n_images + 1, sizeof(*images));
	_clean_(freep) uint32_t *nodes = calloc(from->n_nodes + 1, sizeof(*nodes));

	if (!images || !nodes)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_images; i++)
		images[i] = stacks_image(into, &from->images[i]);
	for (size_t i = 0; i < from->n_nodes; i++) {
		const struct stack_node *node = &from->nodes[i];
		uint32_t parent = node->parent == STACKS_ROOT ? STACKS_ROOT : nodes[node->parent];
		struct stack_frame frame = { images[node->frame.image], node->frame.offset };
		int r = 0;

		nodes[i] = INTERNED_NONE;
		if (frame.image != INTERNED_NONE && (node->parent == STACKS_ROOT || parent != INTERNED_NONE))
			r = node_intern(into, parent, &frame, &nodes[i]);
		if (r < 0)
			return r;
		if (r) {
			node_count(into, nodes[i], node->count);
			into->nodes[nodes[i]].weight += (double)node->count * worth;
		} else {
			into->n_lost = add(into->n_lost, node->count);
		}
	}
	into->n_lost = add(into->n_lost, from->n_lost);
	return 0;
}

/* --- bytes ---------------------------------------------------------------------------------------- */

void stacks_encode(const struct stacks *stacks, struct buffer *buffer)
{
	buffer_uleb(buffer, stacks->n_images);
	for (size_t i = 0; i < stacks->n_images; i++) {
		const struct sample_module *image = &stacks->images[i];

		buffer_u8(buffer, (uint8_t)image->kind);
		buffer_string(buffer, (const char *)image->build_id.bytes, image->build_id.size);
		buffer_string(buffer, image->path, strlen(image->path));
		buffer_uleb(buffer, image->file_size);
		buffer_uleb(buffer, image->mtime_ns);
		buffer_uleb(buffer, image->space);
		buffer_uleb(buffer, image->user == SAMPLE_USER_UNKNOWN ? 0 : (uint64_t)image->user + 1);
	}
	buffer_uleb(buffer, stacks->n_nodes);
	for (size_t i = 0; i < stacks->n_nodes; i++) {
		const struct stack_node *node = &stacks->nodes[i];

		buffer_uleb(buffer, node->parent == STACKS_ROOT ? 0 : i - node->parent);
		buffer_uleb(buffer, node->frame.image);
		buffer_uleb(buffer, node->frame.offset);
		buffer_uleb(buffer, node->count);
	}
	buffer_uleb(buffer, stacks->n_lost);
}

static bool is_kind(uint8_t kind)
{
	return (kind >= SAMPLE_MODULE_FILE && kind <= SAMPLE_MODULE_ANONYMOUS) || kind == STACK_PROCESS ||
	       kind == STACK_CUT;
}

/* One that is there already is refused: nodes are told apart by its number. */
static int image_decode(struct reader *reader, struct stacks *stacks, uint64_t number)
{
	uint8_t kind = reader_u8(reader);
	size_t n_id, n_path;
	const char *id = reader_string(reader, &n_id), *path = reader_string(reader, &n_path);
	struct sample_module image = { .kind = (enum sample_module_kind)kind };
	uint64_t space, user;

	image.file_size = reader_uleb(reader);
	image.mtime_ns = reader_uleb(reader);
	space = reader_uleb(reader);
	user = reader_uleb(reader);
	if (!is_kind(kind) || n_id > BUILD_ID_MAX_BYTES || n_path > PATH_MAX_BYTES ||
	    (path && memchr(path, '\0', n_path)) || space > UINT32_MAX || user > UINT32_MAX)
		reader->bad = true;
	if (reader->bad)
		return 0;
	image.build_id.size = (uint8_t)n_id;
	memcpy(image.build_id.bytes, id, n_id);
	image.space = (uint32_t)space;
	image.user = user ? (uint32_t)(user - 1) : SAMPLE_USER_UNKNOWN;
	image.path = strndup(path, n_path);
	if (!image.path)
		return -ENOMEM;
	reader->bad |= stacks_image(stacks, &image) != number;
	free(image.path);
	return 0;
}

/* How deep it is; 0: deeper than any may be. */
static unsigned depth_of(const uint8_t *depths, uint64_t i, uint64_t back)
{
	unsigned depth = back ? depths[i - back] + 1u : 1;

	return depth <= STACKS_MAX_FRAMES ? depth : 0;
}

static int nodes_decode(struct reader *reader, struct stacks *stacks, uint64_t n)
{
	_clean_(freep) uint8_t *depths = calloc(n + 1, 1);

	if (!depths)
		return -ENOMEM;
	for (uint64_t i = 0; i < n && !reader->bad; i++) {
		uint64_t back = reader_uleb(reader), image = reader_uleb(reader);
		struct stack_frame frame = { (uint32_t)image, reader_uleb(reader) };
		uint64_t count = reader_uleb(reader);
		uint32_t node = 0;

		if (back > i || image >= stacks->n_images ||
		    !(depths[i] = (uint8_t)depth_of(depths, i, back)))
			reader->bad = true;
		if (reader->bad)
			break;
		if (node_intern(stacks, back ? (uint32_t)(i - back) : STACKS_ROOT, &frame, &node) < 0)
			return -ENOMEM;
		reader->bad |= node != i;
		if (!reader->bad)
			node_count(stacks, node, count);
	}
	return 0;
}

int stacks_decode(struct reader *reader, struct stacks *stacks)
{
	uint64_t n = reader_uleb(reader);
	int r = 0;

	if (n > reader_left(reader) / IMAGE_MIN_BYTES || n > STACKS_MAX_IMAGES)
		reader->bad = true;
	for (uint64_t i = 0; r == 0 && i < n && !reader->bad; i++)
		r = image_decode(reader, stacks, i);
	n = reader_uleb(reader);
	if (n > reader_left(reader) / NODE_MIN_BYTES || n > STACKS_MAX_NODES)
		reader->bad = true;
	if (r == 0 && !reader->bad)
		r = nodes_decode(reader, stacks, n);
	stacks->n_lost = reader_uleb(reader);
	return r;
}
