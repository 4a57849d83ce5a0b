/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/report/html.h"

#include <string.h>

#include "base/text.h"

void html_text(FILE *out, const char *text)
{
	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		int32_t code = text_next(text, left, &n);

		switch (code) {
		case '&': fputs("&amp;", out); break;

		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		case '\'': fputs("&#39;", out); break;
		case -1: fprintf(out, "\\x%02x", (unsigned char)*text); break;
		default:
			if (text_is_plain(code))
				fwrite(text, 1, n, out);
			else
				fprintf(out, code < 0x80 ? "\\x%02x" : "\\u{%x}", (unsigned)code);
		}
	}
}
