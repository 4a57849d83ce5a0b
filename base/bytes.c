/* SPDX-License-Identifier: Apache-2.0 */

#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const void *reader_bytes(struct reader *reader, uint64_t size)
{
	const uint8_t *p = reader->at;

	if (reader->bad || size > reader_left(reader)) {
		reader->bad = true;
		return NULL;
	}
	reader->at += size;
	return p;
}

struct reader reader_sub(struct reader *reader, uint64_t size)
{
	const uint8_t *p = reader_bytes(reader, size);
	struct reader sub = reader_of(p, p ? (size_t)size : 0);

	sub.bad = reader->bad;
	return sub;
}

const char *reader_string(struct reader *reader, size_t *retsize)
{
	uint64_t size = reader_uleb(reader);
	const char *s = reader_bytes(reader, size);

	*retsize = s ? (size_t)size : 0;
	return s;
}

static uint64_t reader_le(struct reader *reader, unsigned n_bytes)
{
	const uint8_t *p = reader_bytes(reader, n_bytes);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, n_bytes); /* hosts are little-endian: x86-64, aarch64 */
	return v;
}

uint8_t reader_u8(struct reader *reader)
{
	return (uint8_t)reader_le(reader, 1);
}

uint16_t reader_u16(struct reader *reader)
{
	return (uint16_t)reader_le(reader, 2);
}

uint32_t reader_u32(struct reader *reader)
{
	return (uint32_t)reader_le(reader, 4);
}

uint64_t reader_u64(struct reader *reader)
{
	return reader_le(reader, 8);
}

uint64_t reader_uleb(struct reader *reader)
{
	uint64_t v = 0;
	unsigned shift = 0;

	for (;;) {
		const uint8_t *p = reader_bytes(reader, 1);

		if (!p)
			return 0;
		if (shift > 63 || (shift == 63 && (*p & 0x7e))) {
			reader->bad = true;
			return 0;
		}
		v |= (uint64_t)(*p & 0x7f) << shift;
		if (!(*p & 0x80))
			return v;
		shift += 7;
	}
}

int64_t reader_sleb(struct reader *reader)
{
	uint64_t v = 0;
	unsigned shift = 0;

	for (;;) {
		const uint8_t *p = reader_bytes(reader, 1);

		if (!p)
			return 0;
		if (shift > 63) {
			reader->bad = true;
			return 0;
		}
		v |= (uint64_t)(*p & 0x7f) << shift;
		shift += 7;
		if (!(*p & 0x80)) {
			if (shift < 64 && (*p & 0x40))
				v |= ~0ull << shift;
			return (int64_t)v;
		}
	}
}

void buffer_done(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer){ 0 };
}

static bool buffer_reserve(struct buffer *buffer, size_t more)
{
	size_t need, capacity;
	uint8_t *data;

	if (buffer->bad || __builtin_add_overflow(buffer->size, more, &need))
		return !(buffer->bad = true);
	if (need <= buffer->capacity)
		return true;
	capacity = MAX(need, buffer->capacity * 2);
	data = realloc(buffer->data, capacity);
	if (!data)
		return !(buffer->bad = true);
	buffer->data = data;
	buffer->capacity = capacity;
	return true;
}

void buffer_bytes(struct buffer *buffer, const void *bytes, size_t size)
{
	if (!size || !buffer_reserve(buffer, size))
		return;
	memcpy(buffer->data + buffer->size, bytes, size);
	buffer->size += size;
}

void buffer_string(struct buffer *buffer, const char *s, size_t size)
{
	buffer_uleb(buffer, size);
	buffer_bytes(buffer, s, size);
}

void buffer_u8(struct buffer *buffer, uint8_t v)
{
	buffer_bytes(buffer, &v, sizeof(v));
}

void buffer_u16(struct buffer *buffer, uint16_t v)
{
	buffer_bytes(buffer, &v, sizeof(v));
}

void buffer_u32(struct buffer *buffer, uint32_t v)
{
	buffer_bytes(buffer, &v, sizeof(v));
}

void buffer_u64(struct buffer *buffer, uint64_t v)
{
	buffer_bytes(buffer, &v, sizeof(v));
}

void buffer_uleb(struct buffer *buffer, uint64_t v)
{
	do {
		uint8_t byte = v & 0x7f;

		v >>= 7;
		buffer_u8(buffer, v ? byte | 0x80 : byte);
	} while (v);
}

void buffer_sleb(struct buffer *buffer, int64_t v)
{
	bool more;

	do {
		uint8_t byte = v & 0x7f;

		v >>= 7;
		more = !((v == 0 && !(byte & 0x40)) || (v == -1 && (byte & 0x40)));
		buffer_u8(buffer, more ? byte | 0x80 : byte);
	} while (more);
}

void buffer_printf(struct buffer *buffer, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !buffer_reserve(buffer, (size_t)n + 1))
		return;
	va_start(ap, fmt);
	vsnprintf((char *)buffer->data + buffer->size, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buffer->size += (size_t)n;
}
