/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * code.h - the sampled part of a module: instructions with their samples, functions with their callees
 *
 * First step of estimation. Only functions that have samples, and those that are at most CODE_CALLS direct calls away
 * from one, are decoded ("warm"); for estimators that ask for lengths alone, only blocks that have samples. Whatever a
 * sample log claims, the work is bounded by the code of the file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/arena.h"
#include "module/block_map.h"
#include "module/image.h"
#include "profiles/samples/sample_log.h"

#define CODE_CALLS 3u

enum code_warmth {
	CODE_COLD,
	CODE_SAMPLED = CODE_CALLS + 1, /* one less for each call away from such a function */
};

enum code_depth {
	CODE_LENGTHS, /* n_insns of the blocks with samples; no insns[], samples[], calls[] */
	CODE_INSNS,
};

struct code_block {
	uint32_t first_insn, n_insns; /* none: not warm, or of no size */
	double samples;
};

/* A direct call, or a jump to the entry of another function (a tail call). */
struct code_call {
	uint32_t block;	 /* the caller's, index in map->blocks[] */
	uint32_t callee; /* index in map->functions[] */
};

struct code {
	const struct block_map *map; /* borrowed */
	const struct image *image;   /* borrowed */
	struct code_block *blocks;   /* one per map->blocks[] */
	struct insn *insns;	     /* of the warm blocks, in layout order */
	double *samples;	     /* one per insn */
	double *went;  /* one per map->edges[]: times the end of its block was seen to go this way */
	double *left;  /* one per map->blocks[]: ... to leave the function */
	uint8_t *warm; /* of each function, CODE_COLD to CODE_SAMPLED */
	struct code_call *calls; /* by block */
	uint32_t n_insns, n_calls, n_warm;
	double mapped, unmapped; /* samples */
};

/** code_block_has_bytes() - is there code to decode in block @b of the map? */
bool code_block_has_bytes(const struct code *code, uint32_t b);

/** code_function_samples() - all that fell into @function */
double code_function_samples(const struct code *code, const struct block_function *function);

/**
 * code_read() - place the samples of @module and decode the functions around them
 * @arena: owns everything in @ret
 * Return: 0; -ENOTSUP: the machine's instructions are not known; -EBADMSG: blocks overlap; -ENOMEM;
 * @reterr says which.
 * Cost: O(samples + warm code + functions log functions); for CODE_LENGTHS O(samples + code of the
 * blocks that have some + blocks).
 */
int code_read(struct arena *arena, const struct block_map *map, const struct image *image,
	      const struct sample_module *module, enum code_depth depth, struct code *ret,
	      struct fault *reterr);
