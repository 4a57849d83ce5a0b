/* SPDX-License-Identifier: Apache-2.0 */

#include "base/range_coder.h"

#include <stdlib.h>

#include "tests/test.h"

#define N 20000u

static uint64_t state;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* The same calls, whichever way: numbers of all lengths, rare and frequent decisions, trees, raw bits. */
static void walk(struct range_coder *coder, uint64_t *values)
{
	static uint16_t numbers[RANGE_NUMBER_MODELS], tree[256], rare;

	range_models_init(numbers, RANGE_NUMBER_MODELS);
	range_models_init(tree, 256);
	range_models_init(&rare, 1);
	for (unsigned i = 0; i < N; i += 4) {
		values[i] = range_coder_number(coder, numbers, values[i]);
		values[i + 1] = range_coder_bit(coder, &rare, (unsigned)values[i + 1]);
		values[i + 2] = range_coder_tree(coder, tree, 8, (unsigned)values[i + 2]);
		values[i + 3] = range_coder_raw(coder, i % 65, values[i + 3]);
	}
}

static void values_draw(uint64_t *values)
{
	for (unsigned i = 0; i < N; i += 4) {
		values[i] = draw() >> draw() % 64 >> draw() % 2;
		values[i + 1] = draw() % 1000 == 0;
		values[i + 2] = draw() % 256;
		values[i + 3] = i % 65 ? draw() >> (64 - i % 65) : 0;
	}
}

TEST(what_was_written_is_read_and_every_byte_is_used)
{
	for (state = 1; state < 20;) {
		uint64_t *from = calloc(N, sizeof(*from)), *to = calloc(N, sizeof(*to)), seed = state;
		_clean_(buffer_donep) struct buffer bytes = { 0 };
		struct range_coder coder;

		values_draw(from);
		range_coder_encode(&coder);
		walk(&coder, from);
		CHECK_INT(range_coder_end(&coder, &bytes), 0);
		range_coder_decode(&coder, bytes.data, bytes.size);
		walk(&coder, to);
		CHECK(range_coder_is_whole(&coder));
		CHECK(memcmp(from, to, N * sizeof(*from)) == 0);
		range_coder_decode(&coder, bytes.data, bytes.size - 1);
		walk(&coder, to);
		CHECK(!range_coder_is_whole(&coder));
		free(from);
		free(to);
		state = seed + 1;
	}
}

/* Carries run through many bytes of 0xff when nothing but the upper half is ever taken. */
TEST(carries_reach_bytes_that_wait)
{
	for (unsigned n = 0; n < 300; n++) {
		_clean_(buffer_donep) struct buffer bytes = { 0 };
		struct range_coder coder;
		uint64_t high, low;

		range_coder_encode(&coder);
		for (unsigned i = 0; i < n; i++)
			range_coder_raw(&coder, 1, 1);
		range_coder_raw(&coder, 64, n);
		CHECK_INT(range_coder_end(&coder, &bytes), 0);
		range_coder_decode(&coder, bytes.data, bytes.size);
		for (unsigned i = 0; i < n; i++)
			CHECK((high = range_coder_raw(&coder, 1, 0)) == 1);
		CHECK((low = range_coder_raw(&coder, 64, 0)) == n);
		CHECK(range_coder_is_whole(&coder));
	}
}

/* What readers count on: no byte is ever more decisions than the bound, nor much fewer when all are alike. */
TEST(a_byte_is_a_bounded_number_of_decisions)
{
	const unsigned n = 1u << 20;
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct range_coder coder;
	uint16_t model;

	range_models_init(&model, 1);
	range_coder_encode(&coder);
	for (unsigned i = 0; i < n; i++)
		range_coder_bit(&coder, &model, 0);
	CHECK_INT(range_coder_end(&coder, &bytes), 0);
	CHECK(bytes.size * RANGE_DECISIONS_PER_BYTE > n);
	CHECK(bytes.size * 300 < n);
	range_coder_decode(&coder, bytes.data, bytes.size);
	CHECK(range_coder_budget(&coder) >= n);
}

/* Whatever the bytes are, reading ends, and after the end nothing but zeros comes. */
TEST(any_bytes_can_be_read)
{
	uint8_t bytes[256];
	uint64_t values[N];

	state = 42;
	for (unsigned round = 0; round < 50; round++) {
		struct range_coder coder;
		uint16_t model;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = round ? (uint8_t)draw() : 0xff;
		range_coder_decode(&coder, bytes, round * 5);
		walk(&coder, values);
		CHECK(coder.in.bad && range_coder_budget(&coder) == 0);
		range_models_init(&model, 1);
		CHECK(range_coder_bit(&coder, &model, 1) == 0 && range_coder_raw(&coder, 64, 1) == 0);
	}
}

TEST_MAIN()
