/* SPDX-License-Identifier: Apache-2.0 */

#include "module/field_pack.h"

#include <errno.h>

#include "base/file.h"
#include "base/sha256.h"
#include "module/bitcode_pack.h"
#include "module/block_map.h"
#include "tests/attack.h"

static const struct build_id id = { .size = 8, .bytes = { 1, 2, 3, 4, 5, 6, 7, 8 } };

/* Fields of a program that is linked as many are. */
static struct buffer fields_make(void)
{
	static const char *const words[] = {
		"names.o", "--hash-style=gnu", "--eh-frame-hdr", "-m",		 "elf_x86_64",
		"-pie",	   "Scrt1.o",	       "crti.o",	 "crtbeginS.o",	 "crtendS.o",
		"crtn.o",  "libc.so.6",	       "src/program.c",	 "libother.so.3"
	};
	struct buffer fields = { 0 };

	buffer_string(&fields, "x86_64-pc-linux-gnu", 19);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		buffer_string(&fields, words[i], strlen(words[i]));
	return fields;
}

/* Functions whose blocks come in and out of order, with all that a block may have. */
static struct buffer map_make(unsigned n_functions)
{
	struct buffer bytes = { 0 };
	struct block_map map = { .build_id = id, .n_functions = n_functions, .n_blocks = n_functions * 3ul };
	size_t n = map.n_blocks;

	map.functions = calloc(n_functions + 1, sizeof(*map.functions));
	map.ir_functions = calloc(n_functions + 1, sizeof(*map.ir_functions));
	map.blocks = calloc(n + 1, sizeof(*map.blocks));
	map.edges = calloc(n + 1, sizeof(*map.edges));
	map.calls = calloc(n + 1, sizeof(*map.calls));
	map.probes = calloc(n + 1, sizeof(*map.probes));
	map.n_edges = map.n_calls = map.n_probes = n;
	map.n_ir_functions = n_functions;
	for (uint32_t i = 0; i < n_functions; i++) {
		map.functions[i] = (struct block_function){ .address = 0x1000 + i * 64,
							    .guid = 7000 + i,
							    .first_block = i * 3,
							    .n_blocks = 3,
							    .name = i % 3 ? "function_name" : "main" };
		map.ir_functions[i] = (struct block_ir_function){ .guid = 7000 + i,
								  .cfg_hash = i * 0x9e3779b97f4a7c15ull,
								  .name = map.functions[i].name };
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t place = i % 3;

		map.blocks[i] = (struct block){ .address = 0x1000 + i / 3 * 64 + place * 20,
						.size = 10 + i % 7,
						.id = place ? 3 - place : 0,
						.flags = place == 2,
						.first_edge = i,
						.n_edges = 1,
						.first_call = i,
						.n_calls = 1,
						.first_probe = i,
						.n_probes = 1 };
		map.edges[i] = (struct block_edge){ .target = i / 3 * 3 + (i + 1) % 3,
						    .probability = 1u << (20 + i % 11) };
		map.calls[i] = 5 + i % 5;
		map.probes[i] =
			(struct block_probe){ .guid = 7000 + i / 3, .index = 1 + (place ? 3 - place : 0) };
	}
	CHECK_INT(block_map_encode(&map, &bytes), 0);
	free(map.functions);
	free(map.ir_functions);
	free(map.blocks);
	free(map.edges);
	free(map.calls);
	free(map.probes);
	return bytes;
}

static bool is_same(const struct buffer *a, const struct buffer *b)
{
	return a->size == b->size && (!a->size || memcmp(a->data, b->data, a->size) == 0);
}

static size_t comes_back(const struct buffer *fields, const struct buffer *map, bool knows_example)
{
	_clean_(buffer_donep) struct buffer packed = { 0 }, again = { 0 }, f = { 0 }, m = { 0 };
	struct reader in;

	CHECK_INT(field_pack(&id, fields, map, knows_example, &packed), 0);
	CHECK_INT(field_pack(&id, fields, map, knows_example, &again), 0);
	CHECK(is_same(&packed, &again));
	in = reader_of(packed.data, packed.size);
	CHECK_INT(field_unpack(&id, &in, 1u << 24, knows_example, &f, &m, NULL), 0);
	CHECK_INT(reader_left(&in), 0);
	CHECK(is_same(fields, &f) && is_same(map, &m));
	return packed.size;
}

static void hash_check(const struct buffer *bytes, const char *expected)
{
	_clean_(sha256_freep) struct sha256 *hash = sha256_new();
	uint8_t found[SHA256_BYTES];
	char text[2 * SHA256_BYTES + 1];

	sha256_add(hash, bytes->data, bytes->size);
	CHECK_INT(sha256_end(hash, found), 0);
	for (size_t i = 0; i < sizeof(found); i++)
		snprintf(text + 2 * i, 3, "%02x", found[i]);
	CHECK_STR(text, expected);
}

/* Whoever changes it changes the format: docs/format-morph.md has the same numbers. */
TEST(the_example_is_what_the_format_says)
{
	const struct example *example = example_get();

	CHECK(example);
	hash_check(&example->fields, "aeeebda5ebfa546ca8236e04de619743eb0bdf917d7b5fb2724defb087860f09");
	hash_check(&example->map, "b3eba1bcfa11c8122aafab3a7ea29dc531087bcaf32643fb2db9426cfdfbc5a0");
	hash_check(&example->ir, "01ed54004f309bb28819540a186ba506642f6115326c6797d59d5cb9ea30949a");
}

TEST(fields_and_maps_come_back)
{
	_clean_(buffer_donep) struct buffer fields = fields_make(), none = { 0 };

	for (unsigned n = 0; n < 200; n = 3 * n + 1) {
		_clean_(buffer_donep) struct buffer map = map_make(n);

		comes_back(&fields, &map, false);
		comes_back(&fields, &map, true);
		comes_back(&none, &map, false);
	}
}

TEST(what_is_known_takes_little_space)
{
	_clean_(buffer_donep) struct buffer fields = fields_make(), map = map_make(40);

	CHECK(comes_back(&fields, &map, false) < (fields.size + map.size) / 2);
	CHECK(comes_back(&fields, &map, true) <= 651);
}

/* The same modules beside the example and without: what all modules have in common is not stored again. */
TEST(ir_begins_where_the_example_ended)
{
	struct file_map file;
	struct bitcode_prior prior = { .example = &example_get()->ir };
	_clean_(buffer_donep) struct buffer alone = { 0 }, packed = { 0 }, out = { 0 };
	struct bitcode_span span;

	CHECK_INT(file_map_open(MORPH_CORPUS "/bitcode/no-loop.bc", &file, NULL), 0);
	span = (struct bitcode_span){ file.data, file.size };
	CHECK_INT(bitcode_pack(&span, 1, NULL, &alone), 0);
	CHECK_INT(bitcode_pack(&span, 1, &prior, &packed), 0);
	CHECK(packed.size + 1000 < alone.size);
	CHECK(packed.size <= 591);
	CHECK_INT(bitcode_unpack(packed.data, packed.size, &prior, &span.size, 1, &out, NULL), 0);
	CHECK(out.size == span.size && memcmp(out.data, span.bytes, span.size) == 0);
	file_map_donep(&file);
}

TEST(what_is_no_map_is_stored)
{
	_clean_(buffer_donep) struct buffer fields = fields_make(), map = { 0 };

	buffer_bytes(&map, "\x01\x02\x03 and so on", 13);
	CHECK(comes_back(&fields, &map, false) > map.size);
}

TEST(what_is_large_is_stored)
{
	_clean_(buffer_donep) struct buffer fields = { 0 }, map = map_make(1);
	size_t size;

	while (fields.size <= FIELD_PACK_MAX_FIELDS)
		buffer_bytes(&fields, "0123456789abcdef", 16);
	size = comes_back(&fields, &map, false);
	CHECK(size > fields.size && size < fields.size + map.size);
}

TEST(damage_is_refused_or_stays_within_bounds)
{
	_clean_(buffer_donep) struct buffer fields = fields_make(), map = map_make(20), packed = { 0 };
	unsigned n_refused = 0;

	CHECK_INT(field_pack(&id, &fields, &map, false, &packed), 0);
	for (size_t i = 0; i < packed.size; i++) {
		_clean_(buffer_donep) struct buffer f = { 0 }, m = { 0 };
		struct reader in = reader_of(packed.data, packed.size);
		struct fault fault;

		packed.data[i] ^= 0x5a;
		n_refused += field_unpack(&id, &in, 1u << 20, false, &f, &m, &fault) < 0;
		CHECK(f.size <= FIELD_PACK_MAX_FIELDS && m.size <= FIELD_PACK_MAX_MAP);
		packed.data[i] ^= 0x5a;
	}
	CHECK(n_refused > 0);
	for (size_t n = 0; n < packed.size; n++) {
		_clean_(buffer_donep) struct buffer f = { 0 }, m = { 0 };
		struct reader in = reader_of(packed.data, n);
		struct fault fault = { "" };

		CHECK_INT(field_unpack(&id, &in, 1u << 20, false, &f, &m, &fault), -EBADMSG);
		CHECK(fault.text[0]);
	}
}

TEST(sizes_beyond_the_limit_are_refused)
{
	_clean_(buffer_donep) struct buffer fields = fields_make(), map = map_make(2), packed = { 0 };
	_clean_(buffer_donep) struct buffer f = { 0 }, m = { 0 };
	struct fault fault;
	struct reader in;

	CHECK_INT(field_pack(&id, &fields, &map, false, &packed), 0);
	in = reader_of(packed.data, packed.size);
	ATTACK("fields-larger-than-the-file-allows",
	       field_unpack(&id, &in, fields.size + map.size - 1, false, &f, &m, &fault) == -EBADMSG &&
		       strstr(fault.text, "impossible sizes") && !f.data && !m.data);
}

TEST_MAIN()
