/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bitcode_model.h - what is known of a field of bitcode before it is coded (private to bitcode_pack.c)
 *
 * Both directions ask for each field, code it, and tell what it was; so both know the same. Whatever the
 * model says is a prediction: no number that is read from foreign bytes can do more than be badly guessed.
 */

#include "module/bitcode_field.h"
#include "module/bitcode_prior.h"
#include "module/bitstream.h"
#include "module/coder/value_coder.h"

struct bitcode_model;

/** bitcode_model_new() - @texts: bytes of texts and data, about; @volume: of all modules; NULL: no memory */
struct bitcode_model *bitcode_model_new(size_t texts, size_t volume);
/** bitcode_model_know() - once, what stands in the file; @prior: borrowed for the call, or NULL; false: no memory */
bool bitcode_model_know(struct bitcode_model *model, const struct bitcode_prior *prior);
void bitcode_model_free(struct bitcode_model *model); /* accepts NULL */
DEFINE_CLEANUP(struct bitcode_model *, bitcode_model_free);

/** bitcode_model_begin() - a module begins; what was learnt stays */
void bitcode_model_begin(struct bitcode_model *model);
/** bitcode_model_enter() - a block begins */
void bitcode_model_enter(struct bitcode_model *model, const struct bitstream_walk *walk);
/** bitcode_model_facts() - @field: its form is filled in; @ret: in that form */
void bitcode_model_facts(struct bitcode_model *model, const struct bitstream_walk *walk, struct field *field,
			 struct value_facts *ret);
/** bitcode_model_note() - what the field was; false: no memory */
bool bitcode_model_note(struct bitcode_model *model, const struct bitstream_walk *walk,
			const struct field *field, uint64_t value);
/** bitcode_model_record() - a record ends; false: no memory */
bool bitcode_model_record(struct bitcode_model *model, const struct bitstream_walk *walk);

/** field_code() - @value in the field's form; field_value() - and back, false: nothing has that form */
uint64_t field_code(const struct field *field, uint64_t value);
bool field_value(const struct field *field, uint64_t code, uint64_t *ret);
