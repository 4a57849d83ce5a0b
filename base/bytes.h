/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bytes.h - a checked cursor over foreign bytes, and a growing buffer to write them
 *
 * struct reader: every read goes through one overflow-checked range test. After the first read past
 * the end the reader is `bad` for good and returns zeros, so a parser may read a whole record and
 * test once. Integers are little-endian; LEB128 as in DWARF 5, section 7.6.
 *
 * struct buffer: appends never report an error one by one; when memory runs out the buffer is `bad`
 * and the caller tests that once, at the end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

struct reader {
	const uint8_t *start; /* borrowed */
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

static inline struct reader reader_of(const void *bytes, size_t size)
{
	const uint8_t *p = bytes;

	return (struct reader){ .start = p, .at = p, .end = p ? p + size : p };
}

static inline size_t reader_left(const struct reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

static inline size_t reader_offset(const struct reader *reader)
{
	return (size_t)(reader->at - reader->start);
}

/** reader_bytes() - borrow the next @size bytes; NULL and `bad` when there are fewer */
const void *reader_bytes(struct reader *reader, uint64_t size);
/** reader_sub() - a reader over the next @size bytes, which are skipped here; `bad` when too few */
struct reader reader_sub(struct reader *reader, uint64_t size);
/** reader_string() - a length (ULEB) and that many bytes; not NUL-terminated; NULL when bad */
const char *reader_string(struct reader *reader, size_t *retsize);

uint8_t reader_u8(struct reader *reader);
uint16_t reader_u16(struct reader *reader);
uint32_t reader_u32(struct reader *reader);
uint64_t reader_u64(struct reader *reader);
uint64_t reader_uleb(struct reader *reader); /* more than 64 bits: bad */
int64_t reader_sleb(struct reader *reader);

struct buffer {
	uint8_t *data; /* owned */
	size_t size, capacity;
	bool bad;
};

void buffer_done(struct buffer *buffer);
static inline void buffer_donep(struct buffer *buffer)
{
	buffer_done(buffer);
}

void buffer_bytes(struct buffer *buffer, const void *bytes, size_t size);
void buffer_string(struct buffer *buffer, const char *s, size_t size); /* ULEB length + bytes */
void buffer_u8(struct buffer *buffer, uint8_t v);
void buffer_u16(struct buffer *buffer, uint16_t v);
void buffer_u32(struct buffer *buffer, uint32_t v);
void buffer_u64(struct buffer *buffer, uint64_t v);
void buffer_uleb(struct buffer *buffer, uint64_t v);
void buffer_sleb(struct buffer *buffer, int64_t v);
void buffer_printf(struct buffer *buffer, const char *fmt, ...) _printf_(2, 3);
