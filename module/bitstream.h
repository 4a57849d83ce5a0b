/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bitstream.h - one walk over the grammar of an LLVM bitstream (private to the bitcode files)
 *
 * The walk asks its source for one primitive after the other (a fixed-width field, a VBR field, ...)
 * and tells it what the primitive is for. A source that reads bits gives a scanner; one that reads
 * bits and models them gives a compressor; one that takes values from the model and writes bits gives
 * the decompressor, since what stands next depends only on what stood before.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BITSTREAM_MAX_DEPTH 16u
#define BITSTREAM_MAX_BLOCK_IDS 64u
#define BITSTREAM_MAX_ABBREVIATIONS 128u /* of one block, inherited ones included */
#define BITSTREAM_MAX_OPERANDS 64u	 /* of one abbreviation */
#define BITSTREAM_RECORD_KEPT 16u	 /* leading values of a record, the code first */

enum abbreviation_kind {
	ABBREVIATION_LITERAL,
	ABBREVIATION_FIXED = 1,
	ABBREVIATION_VBR = 2,
	ABBREVIATION_ARRAY = 3,
	ABBREVIATION_CHAR6 = 4,
	ABBREVIATION_BLOB = 5,
};

struct abbreviation_operand {
	uint8_t kind;
	uint64_t value; /* literal, or width in bits */
};

struct abbreviation {
	unsigned n_operands;
	struct abbreviation_operand operands[BITSTREAM_MAX_OPERANDS];
};

/* What a primitive is for. */
enum primitive_role {
	ROLE_MAGIC,
	ROLE_ABBREVIATION_ID, /* which kind of entry comes next */
	ROLE_BLOCK_ID,
	ROLE_BLOCK_WIDTH,
	ROLE_BLOCK_WORDS, /* length of the block; known only when it ends */
	ROLE_DEFINITION,  /* of an abbreviation */
	ROLE_CODE,
	ROLE_LENGTH, /* of a record, an array, a blob */
	ROLE_VALUE,
	ROLE_BLOB,
	ROLE_TOP, /* does another top-level block follow? */
};

struct bitstream_block {
	unsigned id, width; /* width of abbreviation IDs */
	unsigned n_abbreviations;
	const struct abbreviation *abbreviations[BITSTREAM_MAX_ABBREVIATIONS];
	unsigned last_code; /* of the record before; ~0 at first */
};

struct bitstream_walk {
	const struct bitstream_source *source;
	struct bitstream_block stack[BITSTREAM_MAX_DEPTH];
	unsigned depth; /* of blocks; the current one is stack[depth - 1]; 0: top level */
	/* the record that is being walked */
	unsigned abbreviation_id;
	uint64_t n_values;			/* walked so far, the code included */
	uint64_t values[BITSTREAM_RECORD_KEPT]; /* the leading ones */
	uint64_t last, before_last;		/* the latest two values */
	bool in_array;
	bool is_char6; /* the value that is walked */
	/* private */
	struct abbreviation **owned;
	size_t n_owned, owned_capacity;
	const struct abbreviation *info[BITSTREAM_MAX_BLOCK_IDS][BITSTREAM_MAX_ABBREVIATIONS];
	unsigned n_info[BITSTREAM_MAX_BLOCK_IDS];
	uint64_t info_block; /* the block that BLOCKINFO describes now */
};

/* Every function returns false to end the walk at once (damage, or an end that was looked for). */
struct bitstream_source {
	/* @width: bits; VBR: of a chunk */
	bool (*fixed)(struct bitstream_walk *walk, enum primitive_role role, unsigned width, uint64_t *ret);
	bool (*vbr)(struct bitstream_walk *walk, enum primitive_role role, unsigned width, uint64_t *ret);
	bool (*align)(struct bitstream_walk *walk);	  /* to 32 bits, with zeros */
	bool (*block_begin)(struct bitstream_walk *walk); /* the 32-bit length stands here */
	bool (*block_end)(struct bitstream_walk *walk);
	bool (*record_end)(struct bitstream_walk *walk);      /* may be NULL */
	bool (*more)(struct bitstream_walk *walk, bool *ret); /* at top level: another block? */
};

/** bitstream_walk() - magic, then blocks until the source says there are no more; false: ended early */
bool bitstream_walk(struct bitstream_walk *walk);
void bitstream_walk_done(struct bitstream_walk *walk);
