/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bitcode_guess.h - what the next value is likely to be, from what the model remembers, and what it is to remember of it
 */

#include "module/bitcode_field.h"
#include "module/bitcode_state.h"

/** data_bytes() - how many bytes an element of constant data has; 0: this is none */
unsigned data_bytes(const struct bitcode_model *m, const struct bitstream_walk *w, const struct field *f);
/** bytes_guess() - guess 0: the @n bytes that follow in the texts */
void bytes_guess(const struct bitcode_model *m, unsigned n, struct value_facts *ret);
/** base_detail() - what an instruction's first operand is, or an address's base, once it is known; 0: not yet */
uint32_t base_detail(const struct bitcode_model *m, const struct bitstream_walk *w);
/** callee_facts() - contexts and guesses for whom a call calls */
void callee_facts(const struct bitcode_model *m, const struct bitstream_walk *w, struct field *f,
		  struct value_facts *ret);
/** value_guesses() - for all other values but texts; @before: the same place in @h, the latest record of its kind */
void value_guesses(struct bitcode_model *m, const struct bitstream_walk *w, struct field *f,
		   const struct history *h, uint64_t before, struct value_facts *ret);
void history_note(struct history *h, const struct bitcode_model *m, const struct bitstream_walk *w);
void hint_note(struct bitcode_model *m, const struct bitstream_walk *w, uint64_t back);
void call_note(struct bitcode_model *m, const struct bitstream_walk *w);
void metadata_note(struct bitcode_model *m, const struct bitstream_walk *w);
