/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * field_pack.h - what Morph data says beside IR, in little space: fields (options, link plan) and the block map
 *
 * Bytes of both are coded by what is known of them (coder/text_model.h, map_model.h), after the same was done with those
 * of the example (coder/example.h): the first call learns it, and each begins with a copy. What is large is stored: the
 * container deflates it, and reading it takes no time.
 */

#include <stdbool.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "module/build_id.h"

#define FIELD_PACK_MAX_FIELDS (128u << 10) /* bytes that are coded */
#define FIELD_PACK_MAX_MAP (256u << 10)

/**
 * field_pack() - append the packed form of both to @ret; deterministic
 * @id: of the file; @knows_example: what the example has is known before. Return: 0 or -ENOMEM
 */
int field_pack(const struct build_id *id, const struct buffer *fields, const struct buffer *map,
	       bool knows_example, struct buffer *ret);

/**
 * field_unpack() - foreign bytes, of which @in may have more
 * @max: bytes that both together may have
 * @retfields, @retmap: owned by the caller, whatever is returned
 * Return: 0; -EBADMSG with @reterr; -ENOMEM
 */
int field_unpack(const struct build_id *id, struct reader *in, uint64_t max, bool knows_example,
		 struct buffer *retfields, struct buffer *retmap, struct fault *reterr);
