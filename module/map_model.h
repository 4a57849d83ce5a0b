/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * map_model.h - an encoded block map in little space (private to field_pack.c)
 *
 * What block_map_encode() writes (docs/format-block-map.md) is walked number by number, in the order of functions and
 * blocks rather than column by column, so that each is coded by what is known of its block. The other direction puts the
 * same columns together; whether they are a map is for block_map_decode() to say.
 */

#include "base/bytes.h"
#include "module/build_id.h"
#include "module/coder/text_model.h"
#include "module/coder/value_coder.h"

struct map_model;

/** map_model_new() - NULL: no memory */
struct map_model *map_model_new(void);
/** map_model_copy() - another, which knows what @model learnt; NULL: no memory */
struct map_model *map_model_copy(const struct map_model *model);
void map_model_free(struct map_model *model); /* accepts NULL */
DEFINE_CLEANUP(struct map_model *, map_model_free);

/**
 * map_model_encode() - @size bytes that block_map_encode() wrote; what was learnt before stays
 * @names: by which names of functions are coded; @id: likely the build ID
 * Return: 0; 1: they would not come back as they are; -ENOMEM
 */
int map_model_encode(struct map_model *model, struct value_coder *coder, struct text_model *names,
		     const struct build_id *id, const void *bytes, size_t size);
/** map_model_decode() - foreign: at most @max bytes are appended to @ret. Return: 0; -EBADMSG; -ENOMEM */
int map_model_decode(struct map_model *model, struct value_coder *coder, struct text_model *names,
		     const struct build_id *id, size_t max, struct buffer *ret);
