/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * blocks.h - the parts of `morph blocks`: a function's control flow as a graph, and the hottest instructions
 */

#include "base/bytes.h"
#include "cli/shared/analysis.h"

struct blocks_view {
	const struct analysis *analysis;	/* borrowed */
	const struct analysed_function *chosen; /* NULL: all functions */
	size_t limit;				/* blocks in the graph, or instructions in the list */
	bool instructions;			/* in the graph's blocks */
};

/* A block with what is told of it. */
struct told_block {
	uint32_t index;	       /* in the map's blocks[] */
	double charged, share; /* samples; of the function's */
	double executions;     /* NAN: not known */
	double cycles, best;   /* of one execution; NAN: not known */
	uint32_t n_insns;
};

/** told_blocks() - all of the function, hottest first; @ret is freed by the caller; 0 or -ENOMEM */
int told_blocks(const struct analysis *analysis, const struct analysed_function *function,
		struct told_block **ret, size_t *retn);

/* An instruction that samples were charged to. */
struct told_insn {
	uint64_t address;
	uint32_t index;	   /* in code.insns[] */
	uint32_t function; /* in the map's functions[] */
	double share;	   /* of the file's samples */
};

/** told_insns() - of the chosen function or all, hottest first, @view->limit at most; freed by the caller; 0 or -ENOMEM */
int told_insns(const struct blocks_view *view, struct told_insn **ret, size_t *retn);

#define TOLD_INSN_BYTES 320
/** told_text() - the instruction in words; foreign bytes if it is none */
const char *told_text(const struct analysis *analysis, uint32_t insn, uint64_t address,
		      char ret[TOLD_INSN_BYTES]);

#define WAITS_BYTES 64
/** told_waits() - "data-cache 40 %", the largest certain cause but work; "" when none is worth a word */
const char *told_waits(const struct cycles_insn *insn, char ret[WAITS_BYTES]);

/** blocks_dot() - append the graph in the language of dot(1); 0 or -ENOMEM */
int blocks_dot(const struct blocks_view *view, struct buffer *ret);

/**
 * blocks_svg() - append the graph as dot(1) draws it
 * Return: 0; -ENOENT: there is no dot, and @reterr says what to install; -ETIMEDOUT; -ECHILD; -errno
 */
int blocks_svg(const struct blocks_view *view, struct buffer *ret, struct fault *reterr);

/** blocks_text(), blocks_json() - a table of the blocks; hottest_...(): of instructions. 0 or -ENOMEM */
int blocks_text(const struct blocks_view *view);
int blocks_json(const struct blocks_view *view);
int hottest_text(const struct blocks_view *view);
int hottest_json(const struct blocks_view *view);
