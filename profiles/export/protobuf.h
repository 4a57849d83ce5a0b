/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * protobuf.h - fields of a message in the protocol buffers' wire format
 *
 * A field is a key (number << 3 | type), then a varint (type 0), eight bytes (type 1), or a length and that many bytes
 * (type 2). Appends report nothing one by one (base/bytes.h).
 */

#include "base/bytes.h"

/** put_number(), put_fixed64(), put_bytes() - one field */
static inline void put_number(struct buffer *out, unsigned field, uint64_t value)
{
	buffer_uleb(out, field << 3);
	buffer_uleb(out, value);
}

static inline void put_fixed64(struct buffer *out, unsigned field, uint64_t value)
{
	buffer_uleb(out, field << 3 | 1);
	buffer_u64(out, value);
}

static inline void put_bytes(struct buffer *out, unsigned field, const void *bytes, size_t size)
{
	buffer_uleb(out, field << 3 | 2);
	buffer_string(out, bytes, size);
}

/** put_message() - append @message as a field and make it empty again */
static inline void put_message(struct buffer *out, unsigned field, struct buffer *message)
{
	put_bytes(out, field, message->data, message->size);
	out->bad |= message->bad;
	message->size = 0;
}
