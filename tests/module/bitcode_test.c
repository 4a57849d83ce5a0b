/* SPDX-License-Identifier: Apache-2.0 */

#include "module/bitcode.h"

#include <errno.h>

#include "base/file.h"
#include "module/bitcode_pack.h"
#include "module/coder/value_coder.h"
#include "tests/test.h"

/* Two modules that ld.lld 22 embedded, one behind the other (the corpus of the fuzz target). */
static struct file_map two_modules(void)
{
	struct file_map map;

	if (file_map_open(MORPH_CORPUS "/bitcode/two.bc", &map, NULL) < 0)
		FAIL("no corpus");
	return map;
}

static struct bitcode_span span_at(const struct file_map *map, size_t at)
{
	struct bitcode_span span = { .bytes = map->data + at };

	CHECK_INT(bitcode_size(map->data + at, map->size - at, &span.size, NULL), 0);
	return span;
}

TEST(modules_one_behind_the_other_are_told_apart)
{
	_clean_(file_map_donep) struct file_map map = two_modules();
	struct bitcode_span first = span_at(&map, 0), second = span_at(&map, first.size);
	struct bitcode_facts facts;

	CHECK_INT(first.size + second.size, map.size);
	CHECK_INT(bitcode_facts_read(first.bytes, first.size, &facts, NULL), 0);
	CHECK_STR(facts.producer, "LLVM22.1.8");
	CHECK_STR(facts.triple, "x86_64-pc-linux-gnu");
	CHECK_STR(facts.source, "s.c");
	CHECK_INT(bitcode_facts_read(second.bytes, second.size, &facts, NULL), 0);
	CHECK_STR(facts.source, "s2.c");
}

TEST(debug_information_is_seen)
{
	_clean_(file_map_donep) struct file_map map = two_modules();
	struct bitcode_span first = span_at(&map, 0), second = span_at(&map, first.size);
	bool has;

	CHECK_INT(bitcode_has_debug_info(first.bytes, first.size, &has, NULL), 0);
	CHECK(!has);
	CHECK_INT(bitcode_has_debug_info(second.bytes, second.size, &has, NULL), 0);
	CHECK(has);
}

TEST(loops_in_functions_with_described_variables_are_seen)
{
	_clean_(file_map_donep) struct file_map map = two_modules(), straight;
	struct bitcode_span first = span_at(&map, 0), second = span_at(&map, first.size);
	bool has;

	CHECK_INT(file_map_open(MORPH_CORPUS "/bitcode/no-loop.bc", &straight, NULL), 0);
	CHECK_INT(bitcode_has_described_loops(first.bytes, first.size, &has, NULL), 0);
	CHECK(!has); /* nothing is described */
	CHECK_INT(bitcode_has_described_loops(second.bytes, second.size, &has, NULL), 0);
	CHECK(has);
	CHECK_INT(bitcode_has_described_loops(straight.data, straight.size, &has, NULL), 0);
	CHECK(!has);
	CHECK_INT(bitcode_has_debug_info(straight.data, straight.size, &has, NULL), 0);
	CHECK(has);
}

TEST(functions_that_will_be_added_are_seen)
{
	_clean_(file_map_donep) struct file_map map = two_modules(), thunks;
	struct bitcode_span second = span_at(&map, span_at(&map, 0).size);
	bool has;

	CHECK_INT(bitcode_has_thunks(second.bytes, second.size, &has, NULL), 0);
	CHECK(!has);
	CHECK_INT(file_map_open(MORPH_CORPUS "/bitcode/thunks.bc", &thunks, NULL), 0); /* clang -mretpoline */
	CHECK_INT(bitcode_has_thunks(thunks.data, thunks.size, &has, NULL), 0);
	CHECK(has);
	CHECK_INT(bitcode_has_thunks(thunks.data, 100, &has, NULL), -EBADMSG);
}

TEST(trimming_takes_the_symbol_table)
{
	_clean_(file_map_donep) struct file_map map = two_modules();
	struct bitcode_span first = span_at(&map, 0);
	_clean_(buffer_donep) struct buffer trimmed = { 0 }, again = { 0 };
	struct bitcode_facts facts;
	size_t size;

	CHECK_INT(bitcode_trim(first.bytes, first.size, &trimmed, NULL), 0);
	CHECK(trimmed.size < first.size);
	CHECK_INT(bitcode_size(trimmed.data, trimmed.size, &size, NULL), 0);
	CHECK_INT(size, trimmed.size);
	CHECK_INT(bitcode_facts_read(trimmed.data, trimmed.size, &facts, NULL), 0);
	CHECK_STR(facts.source, "s.c");
	CHECK_INT(bitcode_trim(trimmed.data, trimmed.size, &again, NULL), 0);
	CHECK_INT(again.size, trimmed.size);
}

TEST(symbols_are_the_global_ones_that_the_module_defines)
{
	_clean_(file_map_donep) struct file_map map = two_modules();
	struct bitcode_span first = span_at(&map, 0);
	_clean_(buffer_donep) struct buffer trimmed = { 0 };
	struct bitcode_symbols symbols;
	struct fault fault;

	CHECK_INT(bitcode_symbols_read(first.bytes, first.size, &symbols, &fault), 0);
	CHECK_INT(symbols.n, 1);
	CHECK(bitcode_symbols_have(&symbols, "main"));
	CHECK(!bitcode_symbols_have(&symbols, "usage")); /* static */
	CHECK(!bitcode_symbols_have(&symbols, "mai") && !bitcode_symbols_have(&symbols, ""));
	bitcode_symbols_done(&symbols);
	CHECK_INT(bitcode_trim(first.bytes, first.size, &trimmed, NULL), 0);
	CHECK_INT(bitcode_symbols_read(trimmed.data, trimmed.size, &symbols, &fault), -ENODATA);
	CHECK_INT(bitcode_symbols_read(first.bytes, first.size - 8, &symbols, &fault), -EBADMSG);
}

TEST(packing_gives_back_the_same_bits_in_less_than_half_the_space)
{
	_clean_(file_map_donep) struct file_map map = two_modules();
	struct bitcode_span spans[2] = { span_at(&map, 0) };
	_clean_(buffer_donep) struct buffer packed = { 0 }, again = { 0 }, out = { 0 };
	struct fault fault;

	spans[1] = span_at(&map, spans[0].size);
	CHECK_INT(bitcode_pack(spans, 2, NULL, &packed), 0);
	CHECK(packed.size < map.size / 2);
	CHECK_INT(bitcode_unpack(packed.data, packed.size, NULL, (size_t[]){ spans[0].size, spans[1].size },
				 2, &out, &fault),
		  0);
	CHECK_INT(out.size, map.size);
	CHECK(memcmp(out.data, map.data, map.size) == 0);
	CHECK_INT(bitcode_pack(spans, 2, NULL, &again), 0);
	CHECK(again.size == packed.size && memcmp(again.data, packed.data, packed.size) == 0);
}

/* What the file has already costs next to nothing: here the modules' own bytes, which hold their texts and tables. */
TEST(what_the_file_has_already_is_not_stored_again)
{
	_clean_(file_map_donep) struct file_map map = two_modules();
	struct bitcode_span span = span_at(&map, 0);
	struct bitcode_prior prior = { .bytes = { .data = (uint8_t *)map.data, .size = map.size } };
	_clean_(buffer_donep) struct buffer alone = { 0 }, packed = { 0 }, out = { 0 };
	struct fault fault;

	CHECK_INT(bitcode_pack(&span, 1, NULL, &alone), 0);
	CHECK_INT(bitcode_pack(&span, 1, &prior, &packed), 0);
	CHECK(packed.size < alone.size);
	CHECK_INT(bitcode_unpack(packed.data, packed.size, &prior, &span.size, 1, &out, &fault), 0);
	CHECK_INT(out.size, span.size);
	CHECK(memcmp(out.data, span.bytes, span.size) == 0);
}

/* Whoever unpacks beside other bytes gets another module or none, within bounds. */
TEST(a_file_with_other_bytes_does_not_unpack_to_the_same)
{
	_clean_(file_map_donep) struct file_map map = two_modules();
	struct bitcode_span span = span_at(&map, 0);
	_clean_(freep) uint8_t *other = malloc(map.size);
	struct bitcode_prior prior = { .bytes = { .data = (uint8_t *)map.data, .size = map.size } };
	_clean_(buffer_donep) struct buffer packed = { 0 }, out = { 0 };
	struct fault fault;

	CHECK_INT(bitcode_pack(&span, 1, &prior, &packed), 0);
	for (size_t i = 0; i < map.size; i++)
		other[i] = map.data[i] ^ 1;
	prior.bytes.data = other;
	CHECK(bitcode_unpack(packed.data, packed.size, &prior, &span.size, 1, &out, &fault) < 0 ||
	      memcmp(out.data, span.bytes, span.size) != 0);
}

TEST(what_is_no_bitstream_is_stored)
{
	static const uint8_t text[] = "BC\xc0\xde, but no blocks follow";
	struct bitcode_span span = { text, sizeof(text) };
	_clean_(buffer_donep) struct buffer packed = { 0 }, out = { 0 };

	CHECK_INT(bitcode_pack(&span, 1, NULL, &packed), 0);
	CHECK_INT(packed.size, sizeof(text) + 1);
	CHECK_INT(bitcode_unpack(packed.data, packed.size, NULL, &span.size, 1, &out, NULL), 0);
	CHECK(memcmp(out.data, text, sizeof(text)) == 0);
}

TEST(damage_is_refused_or_stays_within_bounds)
{
	_clean_(file_map_donep) struct file_map map = two_modules();
	struct bitcode_span span = span_at(&map, 0);
	_clean_(buffer_donep) struct buffer packed = { 0 };
	size_t bad_size = span.size + 4, huge = SIZE_MAX / 2;
	unsigned n_refused = 0;
	struct fault fault;

	CHECK_INT(bitcode_pack(&span, 1, NULL, &packed), 0);
	for (size_t i = 1; i < packed.size; i += 97) {
		_clean_(buffer_donep) struct buffer out = { 0 };

		packed.data[i] ^= 0x5a;
		n_refused += bitcode_unpack(packed.data, packed.size, NULL, &span.size, 1, &out, &fault) < 0;
		packed.data[i] ^= 0x5a;
	}
	CHECK(n_refused > 0);
	for (size_t n = 0; n < packed.size; n += 131) {
		_clean_(buffer_donep) struct buffer out = { 0 };

		bitcode_unpack(packed.data, n, NULL, &span.size, 1, &out, &fault);
	}
	_clean_(buffer_donep) struct buffer out = { 0 };

	CHECK_INT(bitcode_unpack(packed.data, packed.size, NULL, &bad_size, 1, &out, &fault), -EBADMSG);
	CHECK_INT(bitcode_unpack(packed.data, packed.size, NULL, &huge, 1, &out, &fault), -EBADMSG);
	CHECK_INT(bitcode_unpack(packed.data, 0, NULL, &span.size, 1, &out, &fault), -EBADMSG);
}

TEST(numbers_of_all_sizes_survive_the_coder)
{
	_clean_(value_coder_freep) struct value_coder *in = NULL, *out = value_coder_new(NULL, 0, 1000);
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct value_facts facts = { 0 };
	uint64_t v;

	for (unsigned i = 0; i < 64 * 64; i++) {
		v = (UINT64_MAX >> i % 64) ^ i;
		facts.contexts[0] = i % 64;
		facts.guesses[0] = i;
		CHECK(value_coder_run(out, &facts, &v));
	}
	CHECK_INT(value_coder_end(out, &bytes), 0);
	in = value_coder_new(bytes.data, bytes.size, 1000);
	for (unsigned i = 0; i < 64 * 64; i++) {
		facts.contexts[0] = i % 64;
		facts.guesses[0] = i;
		CHECK(value_coder_run(in, &facts, &v));
		CHECK(v == ((UINT64_MAX >> i % 64) ^ i));
	}
}

TEST_MAIN()
