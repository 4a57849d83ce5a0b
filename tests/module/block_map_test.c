/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "module/block_map.h"

#include <errno.h>

#include "module/bb_addr_map.h"
#include "module/md5.h"
#include "tests/module/elf_maker.h"
#include "tests/test.h"

#define F ELF_MAKER_TEXT	/* foo */
#define G (ELF_MAKER_TEXT + 32) /* bar */
#define HALF (1u << 30)

enum {
	ENTRY_COUNT = 1,
	FREQUENCY = 2,
	PROBABILITY = 4,
	RANGES = 8,
	NO_BLOCKS = 16,
	CALLS = 32,
	HASH = 64,
	POST_LINK = 128
};

static void function_begin(struct buffer *b, unsigned version, unsigned features)
{
	buffer_u8(b, (uint8_t)version);
	if (version >= 5)
		buffer_u16(b, (uint16_t)features);
	else
		buffer_u8(b, (uint8_t)features);
}

static void numbers(struct buffer *b, const uint32_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buffer_uleb(b, v[i]);
}
#define NUMBERS(b, ...) numbers(b, (uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4)

/* foo: entry (8 bytes) branches to #2 or #1; #2 has a call that ends at 5. bar: one block. */
static void address_map(struct buffer *b)
{
	function_begin(b, 5, PROBABILITY | CALLS);
	buffer_u64(b, F);
	NUMBERS(b, 3, /* entry */ 0, 0, 0, 8, 8, /* #2 */ 2, 0, 1, 5, 3, 8, /* #1 */ 1, 4, 0, 4, 1);
	NUMBERS(b, 2, 2, HALF, 1, HALF, /* #2 */ 1, 1, 2 * HALF, /* #1 */ 0);
	function_begin(b, 5, PROBABILITY | CALLS);
	buffer_u64(b, G);
	NUMBERS(b, 1, 0, 0, 0, 16, 1, 0);
}

static uint64_t guid(const char *name)
{
	return md5_guid(name, strlen(name));
}

static void descriptor(struct buffer *b, const char *name, uint64_t hash)
{
	buffer_u64(b, guid(name));
	buffer_u64(b, hash);
	buffer_string(b, name, strlen(name));
}

static void probe(struct buffer *b, unsigned index, unsigned type, int delta)
{
	buffer_uleb(b, index);
	buffer_u8(b, (uint8_t)(0x80 | type));
	buffer_sleb(b, delta);
}

static void sentinel(struct buffer *b, const char *symbol)
{
	buffer_uleb(b, 0);
	buffer_u8(b, 0x20);
	buffer_u64(b, guid(symbol));
}

static void group(struct buffer *b, const char *name, unsigned n_probes, unsigned n_children)
{
	buffer_u64(b, guid(name));
	NUMBERS(b, n_probes, n_children);
}

struct sections {
	struct buffer map, probes, descriptors;
};

/* @third: behind the second, or NULL */
static struct image *image_of_three(struct sections *s, const char *second, const char *third)
{
	struct image *image = NULL;
	struct elf_maker elf;
	struct fault fault;
	int fd;

	elf_maker_begin(&elf, 64);
	elf_maker_symbol(&elf, "foo", F, STB_GLOBAL);
	elf_maker_symbol(&elf, second, G, STB_LOCAL);
	if (third)
		elf_maker_symbol(&elf, third, G + 16, STB_LOCAL);
	elf_maker_section(&elf, ".llvm_bb_addr_map", SHT_BB_ADDR_MAP, &s->map);
	elf_maker_section(&elf, ".pseudo_probe", SHT_PROGBITS, &s->probes);
	elf_maker_section(&elf, ".pseudo_probe_desc", SHT_PROGBITS, &s->descriptors);
	fd = elf_maker_finish(&elf);
	if (image_open_fd(fd, "test", &image, &fault) < 0)
		FAIL("%s", fault.text);
	close(fd);
	buffer_done(&s->map);
	buffer_done(&s->probes);
	buffer_done(&s->descriptors);
	return image;
}

static struct image *image_of(struct sections *s, const char *second)
{
	return image_of_three(s, second, NULL);
}

/* foo has probes 1, 3, 2 in its blocks; bar has probe 1. */
static struct sections plain_sections(void)
{
	struct sections s = { 0 };

	address_map(&s.map);
	group(&s.probes, "foo", 3, 0);
	probe(&s.probes, 1, 0, 2);
	probe(&s.probes, 3, 0, 6);
	probe(&s.probes, 2, 0, 12);
	group(&s.probes, "bar", 1, 0);
	probe(&s.probes, 1, 0, 0);
	descriptor(&s.descriptors, "foo", 0x1234);
	descriptor(&s.descriptors, "bar", 0x5678);
	return s;
}

static struct block_map *map_of(struct sections s, const char *second)
{
	_clean_(image_freep) struct image *image = image_of(&s, second);
	struct block_map *map = NULL;
	struct fault fault;

	if (block_map_build(image, &map, &fault) < 0)
		FAIL("%s", fault.text);
	return map;
}

TEST(blocks_calls_edges_and_probes_are_joined)
{
	_clean_(block_map_freep) struct block_map *map = map_of(plain_sections(), "bar");
	const struct block *b;

	CHECK_INT(map->n_functions, 2);
	CHECK_STR(map->functions[0].name, "foo");
	CHECK(map->functions[0].guid == guid("foo"));
	CHECK_INT(map->n_blocks, 4);
	b = &map->blocks[1];
	CHECK_INT(b->id, 2);
	CHECK_INT(b->address, F + 8);
	CHECK_INT(b->size, 8);
	CHECK_INT(b->flags, BLOCK_FALLS_THROUGH);
	CHECK_INT(b->n_calls, 1);
	CHECK_INT(map->calls[b->first_call], 5);
	CHECK_INT(map->edges[b->first_edge].target, 2);
	CHECK_INT(map->edges[map->blocks[0].first_edge].target, 1);
	CHECK_INT(map->edges[map->blocks[0].first_edge].probability, HALF);
	CHECK_INT(b->n_probes, 1);
	CHECK_INT(map->probes[b->first_probe].index, 3);
	CHECK_INT(map->probes[map->blocks[3].first_probe].index, 1);
	CHECK(map->probes[map->blocks[3].first_probe].guid == guid("bar"));
	CHECK_INT(block_map_ir_function(map, guid("bar"))->cfg_hash, 0x5678);
	CHECK(!block_map_ir_function(map, 1));
	CHECK_INT(map->n_unplaced, 0);
}

TEST(addresses_find_their_block_and_gaps_find_none)
{
	_clean_(block_map_freep) struct block_map *map = map_of(plain_sections(), "bar");

	CHECK_INT(block_map_find(map, F), 0);
	CHECK_INT(block_map_find(map, F + 7), 0);
	CHECK_INT(block_map_find(map, F + 8), 1);
	CHECK(block_map_find(map, F + 16) == BLOCK_NONE);
	CHECK_INT(block_map_find(map, F + 20), 2);
	CHECK(block_map_find(map, F + 24) == BLOCK_NONE);
	CHECK(block_map_find(map, F - 1) == BLOCK_NONE);
	CHECK_INT(block_map_find(map, G + 15), 3);
	CHECK_INT(block_map_function_of(map, 2), 0);
	CHECK_INT(block_map_function_of(map, 3), 1);
}

TEST(an_address_goes_to_the_block_that_holds_it_not_to_an_empty_one_before)
{
	struct sections s = { 0 };
	_clean_(block_map_freep) struct block_map *map = NULL;

	function_begin(&s.map, 2, 0);
	buffer_u64(&s.map, F);
	NUMBERS(&s.map, 3, 0, 0, 0, 8, 1, 0, 4, 1, 2, 0, 0, 0);
	map = map_of(s, "bar");
	CHECK_INT(block_map_find(map, F), 1);
	CHECK_INT(block_map_find(map, F + 3), 1);
	CHECK(block_map_find(map, F + 4) == BLOCK_NONE);
}

TEST(probes_inlined_after_insertion_count_from_the_sentinels_symbol)
{
	struct sections s = { 0 };
	_clean_(block_map_freep) struct block_map *map = NULL;
	const struct block *b;

	address_map(&s.map);
	group(&s.probes, "foo", 1, 0);
	probe(&s.probes, 1, 0, 0);
	group(&s.probes, "gone", 2, 0); /* inlined into foo: no symbol of its own */
	sentinel(&s.probes, "foo");
	probe(&s.probes, 7, 0, 9);
	map = map_of(s, "bar");
	b = &map->blocks[1];
	CHECK_INT(b->n_probes, 1);
	CHECK_INT(map->probes[b->first_probe].index, 7);
	CHECK(map->probes[b->first_probe].guid == guid("gone"));
	CHECK(map->functions[0].guid == guid("foo"));
}

TEST(children_continue_the_deltas_and_call_probes_are_dropped)
{
	struct sections s = { 0 };
	_clean_(block_map_freep) struct block_map *map = NULL;

	address_map(&s.map);
	group(&s.probes, "foo", 2, 1);
	probe(&s.probes, 1, 0, 0);
	probe(&s.probes, 9, 2, 4);
	buffer_uleb(&s.probes, 0);
	group(&s.probes, "foo", 1, 0);
	probe(&s.probes, 3, 0, 5);
	map = map_of(s, "bar");
	CHECK_INT(map->n_probes, 2);
	CHECK_INT(map->probes[map->blocks[1].first_probe].index, 3);
	CHECK_INT(map->blocks[0].n_probes, 1);
}

TEST(probes_outside_their_function_or_of_unknown_ones_are_counted_as_unplaced)
{
	struct sections s = { 0 };
	_clean_(block_map_freep) struct block_map *map = NULL;

	address_map(&s.map);
	group(&s.probes, "foo", 1, 0);
	probe(&s.probes, 1, 0, 32); /* in bar */
	group(&s.probes, "unknown", 1, 0);
	probe(&s.probes, 1, 0, 0);
	map = map_of(s, "bar");
	CHECK_INT(map->n_probes, 0);
	CHECK_INT(map->n_unplaced, 2);
}

/* Two static functions foo; the linker left one descriptor. */
static struct sections twin_sections(void)
{
	struct sections s = { 0 };

	address_map(&s.map);
	group(&s.probes, "foo", 1, 0);
	probe(&s.probes, 1, 0, 0);
	group(&s.probes, "foo", 1, 0);
	probe(&s.probes, 1, 0, 0);
	descriptor(&s.descriptors, "foo", 0x1234);
	return s;
}

TEST(static_functions_of_one_name_are_told_apart_by_the_order_of_their_groups)
{
	_clean_(block_map_freep) struct block_map *map = map_of(twin_sections(), "foo");

	CHECK_INT(map->blocks[0].n_probes, 1);
	CHECK_INT(map->blocks[3].n_probes, 1);
	CHECK(map->functions[0].guid == map->functions[1].guid);
}

/* As lld leaves them when it is given an order in which neighbours have names of their own and names of others. */
TEST(a_twin_whose_group_stands_behind_its_neighbours_is_the_nearest)
{
	struct sections s = { 0 };
	_clean_(image_freep) struct image *image = NULL;
	_clean_(block_map_freep) struct block_map *map = NULL;
	struct fault fault;

	address_map(&s.map);
	group(&s.probes, "foo", 1, 0);
	probe(&s.probes, 1, 0, 0);
	group(&s.probes, "bar", 1, 0);
	probe(&s.probes, 1, 0, 0);
	group(&s.probes, "foo", 1, 0);
	probe(&s.probes, 1, 0, 0);
	image = image_of_three(&s, "foo", "bar");
	CHECK_INT(block_map_build(image, &map, &fault), 0);
	CHECK_INT(map->blocks[0].n_probes, 1);
	CHECK_INT(map->blocks[3].n_probes, 1);
}

TEST(make_unique_gives_the_second_twin_its_own_guid)
{
	_clean_(block_map_freep) struct block_map *map = map_of(twin_sections(), "foo");
	uint64_t second = block_map_unique_guid("foo", 1);

	CHECK_INT(block_map_make_unique(map), 0);
	CHECK(map->functions[0].guid == guid("foo"));
	CHECK(map->functions[1].guid == second && second != guid("foo"));
	CHECK(map->probes[map->blocks[3].first_probe].guid == second);
	CHECK(map->probes[map->blocks[0].first_probe].guid == guid("foo"));
	CHECK_INT(map->n_ir_functions, 2);
	CHECK_INT(block_map_ir_function(map, guid("foo"))->cfg_hash, 0);
	CHECK_STR(block_map_ir_function(map, second)->name, "foo");
}

TEST(a_renamed_function_has_the_guid_of_its_own_probes)
{
	struct sections s = { 0 };
	_clean_(block_map_freep) struct block_map *map = NULL;

	address_map(&s.map);
	group(&s.probes, "bar", 2, 0);
	sentinel(&s.probes, "bar.llvm.77");
	probe(&s.probes, 1, 0, 0);
	descriptor(&s.descriptors, "bar", 0x5678);
	map = map_of(s, "bar.llvm.77");
	CHECK_STR(map->functions[1].name, "bar.llvm.77");
	CHECK(map->functions[1].guid == guid("bar"));
	CHECK_INT(map->blocks[3].n_probes, 1);
}

TEST(a_function_in_two_ranges_stays_one_function)
{
	struct sections s = { 0 };
	_clean_(block_map_freep) struct block_map *map = NULL;

	/* version 4: hashes; all profile features */
	function_begin(&s.map, 4, RANGES | HASH | ENTRY_COUNT | FREQUENCY | PROBABILITY);
	NUMBERS(&s.map, 2);
	buffer_u64(&s.map, F);
	NUMBERS(&s.map, 1, 0, 0, 8, 8);
	buffer_u64(&s.map, 0xabcdef);
	buffer_u64(&s.map, G);
	NUMBERS(&s.map, 1, 1, 0, 8, 1);
	buffer_u64(&s.map, 0xabcdef);
	NUMBERS(&s.map, /* entries */ 100, /* #0 */ 50, 1, 1, 2 * HALF, /* #1 */ 25, 0);
	map = map_of(s, "foo.cold");
	CHECK_INT(map->n_functions, 1);
	CHECK_INT(map->functions[0].n_blocks, 2);
	CHECK_INT(map->blocks[1].address, G);
	CHECK_INT(map->edges[0].target, 1);
	CHECK_INT(block_map_find(map, G + 2), 1);
	CHECK_INT(block_map_function_of(map, 1), 0);
}

TEST(functions_out_of_address_order_are_sorted_with_their_blocks_and_edges)
{
	struct sections s = { 0 };
	_clean_(block_map_freep) struct block_map *map = NULL;

	function_begin(&s.map, 2, PROBABILITY | POST_LINK);
	buffer_u64(&s.map, G);
	NUMBERS(&s.map, 1, 0, 0, 4, 1, /* post-link */ 5, 0);
	function_begin(&s.map, 2, PROBABILITY);
	buffer_u64(&s.map, F);
	NUMBERS(&s.map, 2, 0, 0, 4, 8, 1, 0, 4, 1, 1, 1, 2 * HALF, 1, 0, 7);
	map = map_of(s, "bar");
	CHECK_STR(map->functions[0].name, "foo");
	CHECK_INT(map->functions[1].first_block, 2);
	CHECK_INT(map->blocks[2].address, G);
	CHECK_INT(map->edges[map->blocks[0].first_edge].target, 1);
	CHECK_INT(map->edges[map->blocks[1].first_edge].target, 0);
}

static int build_error(struct sections s, struct fault *fault)
{
	_clean_(image_freep) struct image *image = image_of(&s, "bar");
	_clean_(block_map_freep) struct block_map *map = NULL;

	return block_map_build(image, &map, fault);
}

TEST(unknown_versions_and_features_are_refused_by_name)
{
	struct sections s = { 0 };
	struct fault fault;

	function_begin(&s.map, 6, 0);
	CHECK_INT(build_error(s, &fault), -EPROTONOSUPPORT);
	CHECK(strstr(fault.text, "version 6"));
	s = (struct sections){ 0 };
	function_begin(&s.map, 5, 0x100);
	CHECK_INT(build_error(s, &fault), -EPROTONOSUPPORT);
	s = (struct sections){ 0 };
	CHECK_INT(build_error(s, &fault), 0); /* an empty section maps nothing */
}

TEST(damage_is_an_error_with_a_place)
{
	struct sections s = plain_sections();
	struct fault fault;

	s.map.size--;
	CHECK_INT(build_error(s, &fault), -EBADMSG);
	CHECK(strstr(fault.text, "address map damaged"));
	s = plain_sections();
	s.probes.size--;
	CHECK_INT(build_error(s, &fault), -EBADMSG);
	CHECK(strstr(fault.text, "pseudo probes damaged"));
	s = plain_sections();
	s.descriptors.size--;
	CHECK_INT(build_error(s, &fault), -EBADMSG);
	CHECK(strstr(fault.text, "probe descriptors damaged"));
}

TEST(a_successor_that_is_no_block_is_damage)
{
	struct sections s = { 0 };
	struct fault fault;

	function_begin(&s.map, 2, PROBABILITY);
	buffer_u64(&s.map, F);
	NUMBERS(&s.map, 1, 0, 0, 4, 8, 1, 5, HALF);
	CHECK_INT(build_error(s, &fault), -EBADMSG);
	CHECK(strstr(fault.text, "successor 5"));
}

static char *dump_of(const struct block_map *map)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	block_map_dump(map, out);
	fclose(out);
	return text;
}

TEST(encoding_is_exact)
{
	_clean_(block_map_freep) struct block_map *map = map_of(plain_sections(), "bar"), *again = NULL;
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	_clean_(freep) char *before = dump_of(map), *after = NULL;
	struct fault fault;

	CHECK_INT(block_map_encode(map, &bytes), 0);
	CHECK_INT(block_map_decode(bytes.data, bytes.size, &again, &fault), 0);
	after = dump_of(again);
	CHECK_STR(after, before);
	CHECK_INT(again->edges[0].probability, map->edges[0].probability);
	CHECK_INT(block_map_find(again, F + 9), 1);
}

TEST(every_truncation_of_an_encoded_map_is_refused)
{
	_clean_(block_map_freep) struct block_map *map = map_of(plain_sections(), "bar");
	_clean_(buffer_donep) struct buffer bytes = { 0 };

	CHECK_INT(block_map_encode(map, &bytes), 0);
	for (size_t n = 0; n < bytes.size; n++) {
		struct block_map *again = NULL;
		struct fault fault;

		CHECK_INT(block_map_decode(bytes.data, n, &again, &fault), -EBADMSG);
	}
}

TEST(the_dump_of_a_small_map_reads_so)
{
	_clean_(block_map_freep) struct block_map *map = map_of(plain_sections(), "bar");
	_clean_(freep) char *text = dump_of(map);

	CHECK_STR(text, "block map of build ID none: 2 functions, 4 blocks, 3 edges, 1 calls, 4 probes "
			"(0 unplaced), 2 IR functions\n"
			"function foo at 0x1000, guid 5cf8c24cdb18bdac, cfg 0000000000001234, 3 blocks\n"
			"  #0 0x1000+8 falls-through, probes 1, to #2 50.00% #1 50.00%\n"
			"  #2 0x1008+8 falls-through, calls end at 5, probes 3, to #1 100.00%\n"
			"  #1 0x1014+4 returns, probes 2\n"
			"function bar at 0x1020, guid e413754a191db537, cfg 0000000000005678, 1 blocks\n"
			"  #0 0x1020+16 returns, probes 1\n");
}

TEST(guids_are_the_low_half_of_md5)
{
	CHECK(guid("") == 0x04b2008fd98c1dd4);
	CHECK(guid("main") == 0xdb956436e78dd5fa);
	CHECK(guid("a name that is longer than one chunk of the hash, which is sixty-four bytes") ==
	      0xd37913fc8e4edc42);
}

TEST_MAIN()
