/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/talk/framing.h"

#include <errno.h>
#include <string.h>

#define HEADER_BYTES 16u

static uint32_t u32_at(const uint8_t *p, bool big)
{
	return big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3] :
		     (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* Bytes that must be there before anything can be passed on; -errno. */
static int message_length(const struct framing *f)
{
	const uint8_t *p = f->held;
	uint64_t total;

	if (f->n_held < HEADER_BYTES)
		return HEADER_BYTES;
	if ((p[0] != 'l' && p[0] != 'B') || p[1] < 1 || p[1] > 4 || p[3] != 1)
		return -EPROTO;
	total = HEADER_BYTES + (((uint64_t)u32_at(p + 12, p[0] == 'B') + 7) & ~7ull) +
		u32_at(p + 4, p[0] == 'B');
	return total > FRAMING_MESSAGE_MAX ? -EMSGSIZE : (int)total;
}

/* One byte of the part before the messages: NUL, then lines. */
static int line_take(struct framing *f, uint8_t byte, struct buffer *ret)
{
	if (f->n_lines == 0) {
		f->n_lines = 1;
		buffer_u8(ret, byte);
		return byte == 0 ? 0 : -EPROTO;
	}
	f->held[f->n_held++] = byte;
	if (byte != '\n')
		return f->n_held < FRAMING_LINE_MAX ? 0 : -EMSGSIZE;
	if (f->n_held < 2 || f->held[f->n_held - 2] != '\r' || ++f->n_lines > FRAMING_LINES_MAX)
		return -EPROTO;
	f->has_begun = f->n_held == 7 && memcmp(f->held, "BEGIN\r\n", 7) == 0;
	buffer_bytes(ret, f->held, f->n_held);
	f->n_held = 0;
	return 0;
}

/* As many of the next bytes as belong to the message under way; how many, or -errno. */
static int message_take(struct framing *f, const uint8_t *bytes, size_t size, struct buffer *ret)
{
	int need = message_length(f);
	size_t n;

	if (need < 0)
		return need;
	n = MIN(size, (size_t)need - f->n_held);
	memcpy(f->held + f->n_held, bytes, n);
	f->n_held += n;
	if (f->n_held >= HEADER_BYTES) {
		need = message_length(f);
		if (need < 0)
			return need;
		if (f->n_held == (size_t)need) {
			buffer_bytes(ret, f->held, f->n_held);
			f->n_held = 0;
			f->n_messages++;
		}
	}
	return (int)n;
}

int framing_take(struct framing *f, const uint8_t *bytes, size_t size, struct buffer *ret)
{
	while (size) {
		int n = f->has_begun ? message_take(f, bytes, size, ret) : 1;
		int r = f->has_begun ? MIN(n, 0) : line_take(f, *bytes, ret);

		if (r < 0)
			return r;
		bytes += n;
		size -= (size_t)n;
	}
	return ret->bad ? -ENOMEM : 0;
}
