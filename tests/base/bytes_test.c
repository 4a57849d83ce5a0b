/* SPDX-License-Identifier: Apache-2.0 */

#include "base/bytes.h"

#include "tests/test.h"

TEST(integers_read_back_as_written)
{
	static const int64_t values[] = { 0, 1, -1, 63, 64, -64, -65, 127, 128, INT64_MAX, INT64_MIN };
	_clean_(buffer_donep) struct buffer buffer = { 0 };
	struct reader reader;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		buffer_sleb(&buffer, values[i]);
		buffer_uleb(&buffer, (uint64_t)values[i]);
		buffer_u64(&buffer, (uint64_t)values[i]);
	}
	reader = reader_of(buffer.data, buffer.size);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		CHECK_INT(reader_sleb(&reader), values[i]);
		CHECK(reader_uleb(&reader) == (uint64_t)values[i]);
		CHECK(reader_u64(&reader) == (uint64_t)values[i]);
	}
	CHECK(!reader.bad && reader_left(&reader) == 0);
}

TEST(a_reader_stays_bad_after_the_first_read_past_the_end)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct reader reader = reader_of(bytes, sizeof(bytes));

	CHECK_INT(reader_u16(&reader), 0x201);
	CHECK_INT(reader_u32(&reader), 0);
	CHECK(reader.bad);
	CHECK_INT(reader_u8(&reader), 0);
}

TEST(a_uleb_of_more_than_64_bits_is_refused)
{
	static const uint8_t bytes[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 };
	struct reader reader = reader_of(bytes, sizeof(bytes));

	reader_uleb(&reader);
	CHECK(reader.bad);
}

TEST_MAIN()
