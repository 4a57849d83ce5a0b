/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * recover.h - the control flow of a file that says nothing about it: functions from symbols, blocks from the code
 *
 * For people's questions (`morph annotate`) about any ELF file; edits use the compiler's own map alone. Only functions that
 * are asked about are read, and those that they call directly. Without symbols, the unwinder's table (.eh_frame_hdr) says
 * where functions begin; where there is none either, a section of code is one function.
 *
 * Code is read from the function's first byte to its last. Bytes that are no known instruction end a block and stay in it as
 * they are. What indirect jumps lead to is known from jumps that were seen, and not guessed. Of a run of traps that nobody
 * jumps to and no address of the question is in (padding), the first is a block and the others are in none.
 *
 * An analysis takes some 250 bytes for each instruction, and files may hold any number: so many are read as the question
 * says, the functions that matter most first, and those that do not fit are left out whole.
 */

#include "module/block_map.h"

struct recover_jump {
	uint64_t from, to; /* virtual addresses */
};

struct recover_question {
	const uint64_t *addresses; /* the functions that hold these, any order */
	const double *weights;	   /* how much each of them matters; NULL: all alike */
	size_t n_addresses;
	const struct recover_jump *jumps; /* that were seen */
	size_t n_jumps;
	const struct image *symbols; /* as for recover_ranges() */
	size_t most_insns;	     /* 0: RECOVER_INSNS */
};

#define RECOVER_INSNS 4000000u /* 1 GB in an analysis; 16 MB of code as compilers make it */

/* Functions with addresses of the question that did not fit. */
struct recover_left {
	size_t n_functions;
	double weight; /* of the addresses in them */
};

/**
 * block_map_recover() - functions, blocks and edges without probabilities; no probes, no calls[]
 * @retleft: may be NULL
 * Return: 0; -ENOTSUP: the machine's instructions are not known; -EFBIG: the function that matters most alone is too large,
 * and nothing else is asked about, or it matters infinitely; -ENOMEM. @reterr says which.
 * Cost: O(symbols log symbols + code read * log blocks).
 */
int block_map_recover(const struct image *image, const struct recover_question *question,
		      struct recover_left *retleft, struct block_map **ret, struct fault *reterr);

/* A function's place, without its blocks. */
struct recover_range {
	uint64_t start, end;
	const char *name; /* borrowed from where the symbols are; NULL: none */
	uint8_t binding;  /* of that symbol */
};

/**
 * recover_ranges() - all functions of the file, sorted, apart from each other; @ret is freed by the caller; 0 or -ENOMEM
 * @symbols: the file's debug file, which has its symbols, and must outlive @ret; NULL: its own are used
 */
int recover_ranges(const struct image *image, const struct image *symbols, struct recover_range **ret,
		   size_t *retn);

/** recover_range_at() - the one that holds @address, or NULL */
const struct recover_range *recover_range_at(const struct recover_range *ranges, size_t n, uint64_t address);
