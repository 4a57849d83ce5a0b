/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * percent.h - a path as one word of text (as in RFC 3986, section 2.1)
 */

/** percent_encode() - @path with blanks, control characters and '%' as %xx; the caller frees; NULL: no memory */
char *percent_encode(const char *path);

/** percent_decode() - @text in place; what is no %xx, and %00, stays as it is */
void percent_decode(char *text);
