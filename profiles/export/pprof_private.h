/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * pprof_private.h - profile.proto of github.com/google/pprof, as both writers of it need it
 *
 * Field numbers below, in the protocol buffers' wire format: a field is a key (number << 3 | type), then a varint (type 0)
 * or a length and that many bytes (type 2). Function and location numbers start at 1; string 0 is "".
 */

#include "base/bytes.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14
};
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STRING = 2 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4 };

/** put_number(), put_bytes() - one field */
static inline void put_number(struct buffer *out, unsigned field, uint64_t value)
{
	buffer_uleb(out, field << 3);
	buffer_uleb(out, value);
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

/** pprof_gzip() - RFC 1952, without time and name, so that the same profile gives the same bytes; 0 or -ENOMEM */
int pprof_gzip(const struct buffer *in, struct buffer *ret);
