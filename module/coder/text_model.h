/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * text_model.h - bytes that are names, options, or objects for the linker, one by one through a value coder
 *
 * Contexts: the latest one to four bytes; the word; in an ELF object the bytes that stand 24 and 64 before (symbols,
 * relocations and section headers are so long), by place within eight bytes. Guesses: these two, and what followed
 * the latest bytes when they stood before. Both directions tell it the same bytes, so both know the same.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "module/coder/match.h"
#include "module/coder/value_coder.h"

#define TEXT_KINDS 2u /* of bytes that callers tell apart */

struct text_model {
	struct byte_match match;
	uint64_t recent; /* the latest eight bytes */
	uint32_t word;	 /* hash of the letters since the latest other byte */
	size_t object;	 /* in the history: behind the magic of the latest object; 0: none yet */
};

/** text_model_init() - @volume: bytes that will be coded, about; false: no memory */
bool text_model_init(struct text_model *model, size_t volume);
/** text_model_copy() - another of its own; false: no memory, and @ret is to be given to text_model_done() */
bool text_model_copy(const struct text_model *model, struct text_model *ret);
void text_model_done(struct text_model *model);
/** text_model_code() - *@byte, in @coder's direction; false: no memory, or the input is damaged */
bool text_model_code(struct text_model *model, struct value_coder *coder, unsigned kind, uint8_t *byte);
