/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * base64.h - bytes as text (RFC 4648, section 4), in lines
 */

#include "base/bytes.h"

/** base64_append() - @size bytes of @data, each line after @indent and ended by a newline. Without memory @to->bad is set */
#define BASE64_LINE_BYTES 57u /* 76 letters */
void base64_append(struct buffer *to, const void *data, size_t size, const char *indent);
