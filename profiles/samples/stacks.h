/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * stacks.h - call stacks of samples, added up as a tree: who called whom, and where the clock found it
 *
 * A stack begins with the process' name and goes from the outermost caller to the instruction that was interrupted. Stacks
 * that begin alike share their nodes, so what is kept grows with the paths through the programs, not with the samples.
 *
 * Stacks come from frame pointers, which are what the program says: one that has none, or lies, has frames that mean
 * nothing. An address that is no code ends a stack, and what was seen so far hangs below STACK_CUT: shown, not guessed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "profiles/samples/interned.h"

#define STACKS_MAX_NODES (1u << 20)  /* of one tree; what would need more counts as lost */
#define STACKS_MAX_IMAGES (1u << 16) /* likewise */
#define STACKS_MAX_FRAMES 128u	     /* of one stack, its process included */
#define STACKS_ROOT UINT32_MAX

/* Kinds of images beside enum sample_module_kind. */
enum {
	STACK_PROCESS = 16, /* path: its name; user: whose; offset 0 */
	STACK_CUT = 17,	    /* in place of the outer frames; offset: enum stack_cut */
};

enum stack_cut {
	STACK_CUT_DEEP = 1,    /* there are more frames than are kept */
	STACK_CUT_NO_CODE = 2, /* the next address lies in no code */
	STACK_CUT_END
};

struct sample_module;

/* Of a caller the last byte of its call, not where the call returns to: that may be the next function's. */
struct stack_frame {
	uint32_t image;
	uint64_t offset; /* as in sample logs; 0 in memory without a name */
};

struct stack_node {
	struct stack_frame frame;
	uint32_t parent; /* the node that called this one, which has a lower number; STACKS_ROOT */
	uint64_t count;	 /* samples that end here */
	double weight;	 /* what stacks_merge() made of them; in no file */
};

struct stacks {
	struct sample_module *images; /* owned; identity is all that is in them */
	size_t n_images, images_capacity;
	struct stack_node *nodes; /* owned */
	size_t n_nodes, nodes_capacity;
	uint64_t n_samples; /* sum of the nodes' counts */
	uint64_t n_lost;    /* samples whose stack found no room */
	struct interned images_index, nodes_index;
};

/** stacks_done() - empty again, and usable; all zeros is an empty one */
void stacks_done(struct stacks *stacks);

/** stack_cut_name() - "[frames beyond the deepest kept]" */
const char *stack_cut_name(uint64_t cut);

/** stacks_image() - the number of what has @like's identity, which is copied; INTERNED_NONE: no room or no memory */
uint32_t stacks_image(struct stacks *stacks, const struct sample_module *like);
/** stacks_special() - the image of a process called @name, or of a STACK_CUT; INTERNED_NONE as above */
uint32_t stacks_special(struct stacks *stacks, int kind, const char *name, uint32_t user);

/** stacks_add() - @count samples of one stack, its outermost frame first; what finds no room is lost; 0 or -ENOMEM */
int stacks_add(struct stacks *stacks, const struct stack_frame *frames, size_t n, uint64_t count);

/** stacks_merge() - all of @from, too; a sample adds @worth to its node's weight; 0 or -ENOMEM */
int stacks_merge(struct stacks *into, const struct stacks *from, double worth);

/** stacks_encode(), stacks_decode() - docs/format-sample-log.md; decoding into an empty one, 0 or -ENOMEM, else @reader is bad */
void stacks_encode(const struct stacks *stacks, struct buffer *buffer);
int stacks_decode(struct reader *reader, struct stacks *stacks);
