/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * build_id.h - the identity of a linked file: the descriptor of its NT_GNU_BUILD_ID note
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Eight is what lld's --build-id=fast makes; a shorter one, chosen by hand, tells no programs apart. */
#define BUILD_ID_MIN_BYTES 8u
#define BUILD_ID_MAX_BYTES 32u
#define BUILD_ID_MAX_TEXT (2 * BUILD_ID_MAX_BYTES + 1)

struct build_id {
	uint8_t size; /* bytes used; 0: none known */
	uint8_t bytes[BUILD_ID_MAX_BYTES];
};

bool build_id_is_equal(const struct build_id *a, const struct build_id *b);
int build_id_compare(const struct build_id *a, const struct build_id *b); /* a total order */

/** build_id_text() - lower-case hexadecimal into @ret, which is returned; "" when none is known */
const char *build_id_text(const struct build_id *id, char ret[BUILD_ID_MAX_TEXT]);
/** build_id_parse() - the inverse; -EINVAL unless @text is an even number of 16 to 64 hex digits */
int build_id_parse(const char *text, struct build_id *ret);

/**
 * build_id_find_note() - search SHT_NOTE / PT_NOTE bytes for the build ID
 * Return: false when there is none of BUILD_ID_MIN_BYTES to BUILD_ID_MAX_BYTES.
 */
bool build_id_find_note(const void *notes, size_t size, struct build_id *ret);
