/* SPDX-License-Identifier: Apache-2.0 */

#include "base/base64.h"

#include <openssl/evp.h>

#include "base/macro.h"

void base64_append(struct buffer *to, const void *data, size_t size, const char *indent)
{
	for (size_t at = 0; at < size; at += BASE64_LINE_BYTES) {
		unsigned char line[BASE64_LINE_BYTES / 3 * 4 + 1];
		size_t n = MIN(size - at, (size_t)BASE64_LINE_BYTES);

		EVP_EncodeBlock(line, (const uint8_t *)data + at, (int)n);
		buffer_printf(to, "%s%s\n", indent, (const char *)line);
	}
}
