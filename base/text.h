/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * text.h - foreign text on its way to a person: names out of files, paths, messages
 *
 * Whoever made a file chose the bytes of its names. A terminal obeys some of them (ESC and the other
 * control characters, C1 included), a reader is misled by others (a newline that starts a line of its
 * own, characters that turn the direction of writing around or have no width). Text is shown with all
 * of these escaped, and everything else as it is:
 *
 *	C0, DEL, bytes that are not UTF-8			\x1b
 *	C1, bidirectional controls, line and paragraph separators,
 *	zero-width characters, interlinear marks, tags		\u202e \u{e0041}
 *
 * Tables, JSON, the log and struct fault use this by themselves; whoever prints foreign text another
 * way uses text_print() or SHOWN().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A name in a printf() argument: lives as long as the enclosing block; longer text ends in "...". */
#define TEXT_SHOWN_BYTES 1024
#define SHOWN(text) text_show((text), (char[TEXT_SHOWN_BYTES]){ 0 }, TEXT_SHOWN_BYTES)

/**
 * text_next() - the character at @s, of which @left bytes are there (at least one)
 * @retsize: bytes of it; 1 for a byte that starts no well-formed sequence (RFC 3629)
 * Return: the code point; -1 for such a byte.
 */
int32_t text_next(const char *s, size_t left, size_t *retsize);

/** text_is_plain() - may the code point go to a terminal as it is? -1 may not. */
bool text_is_plain(int32_t code);

/** text_show() - @text, escaped, into @ret, which is returned; cut at a whole character, with "..." */
const char *text_show(const char *text, char *ret, size_t size);

/** text_clean() - the same in place, in a buffer of @size bytes; what has no room is cut */
void text_clean(char *text, size_t size);

/** text_escaped() - the same as a new string of any length, owned by the caller; NULL: no memory */
char *text_escaped(const char *text);

/** text_print() - all of @text, escaped */
void text_print(FILE *out, const char *text);
