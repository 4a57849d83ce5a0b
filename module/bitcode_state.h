/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bitcode_state.h - what the model of bitcode (bitcode_model.h) remembers of what it has walked over
 */

#include "module/bitcode_function.h"
#include "module/bitstream.h"
#include "module/coder/match.h"
#include "module/coder/value_coder.h"

#define CODES 64u     /* of records that are told apart */
#define CALLEES 1024u /* of which the latest call is kept */
#define NUMBER_SLOTS_MIN 64u
#define HINTS 4096u
#define PERMUTED 1024u
#define GUESS_MATCH (VALUE_GUESSES - 1)

struct history {
	uint64_t values[BITSTREAM_RECORD_KEPT]; /* of the latest record of this code */
	uint64_t n_values;
	uint64_t length;   /* of its array */
	uint64_t number;   /* of the next value when it stood */
	uint64_t last;	   /* its last value */
	uint64_t metadata; /* number of the next node */
};

struct call {
	struct history record;
	struct integer arguments[BITSTREAM_RECORD_KEPT]; /* ID 0: no integer */
};

struct bitcode_model {
	struct byte_match texts;
	struct number_match repeats;
	struct function_state function;
	struct history histories[BITSTREAM_MAX_BLOCK_IDS][CODES];
	struct call calls[CALLEES]; /* by number of the callee */
	unsigned codes[3];	    /* of the latest records, the newest first */
	uint64_t length;	    /* of the current record's array */
	uint64_t third;		    /* the value before the two that the walk keeps */
	uint64_t callees[2];	    /* the latest */
	struct hint {
		struct integer integer;
		uint64_t value; /* counted back, or the number of a global */
		bool is_global;
	} hints[HINTS]; /* by what stands before an operand */
	bool has_hints;
	uint64_t permuted[PERMUTED / 64]; /* of a list of uses: which indices stood already */
	uint64_t group_max;		  /* of attributes: the largest that stood */
	uint64_t n_metadata, n_strings,
		string_max; /* nodes and strings so far, the last string that was named */
	uint64_t names_end; /* in the table of names: where the latest symbol's name ends */
	uint64_t text;	    /* the latest 8 characters */
	/* GUIDs and hashes */
	uint64_t *numbers;	/* owned */
	uint32_t *number_slots; /* owned; open addressing: 1 + place in numbers[] */
	size_t n_numbers, n_number_slots;
	size_t number_next; /* the place behind the one that stood last */
};

static inline unsigned code_of(const struct bitstream_walk *w)
{
	return w->n_values ? (unsigned)w->values[0] % CODES : CODES - 1;
}

static inline unsigned block_of(const struct bitstream_walk *w)
{
	return w->depth ? w->stack[w->depth - 1].id : BITSTREAM_MAX_BLOCK_IDS - 1;
}

static inline unsigned parent_of(const struct bitstream_walk *w)
{
	return w->depth > 1 ? w->stack[w->depth - 2].id : BITSTREAM_MAX_BLOCK_IDS - 1;
}

static inline bool is_call(const struct bitstream_walk *w)
{
	return block_of(w) == BLOCK_FUNCTION && w->n_values &&
	       (w->values[0] == INST_CALL || w->values[0] == INST_INVOKE);
}

static inline void guess(struct value_facts *ret, unsigned i, uint64_t v)
{
	ret->guesses[i] = v;
	ret->is_none[i] = false;
}
