/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The decoder of aarch64 against LLVM's disassembler (oracle.h), word by word. Of the groups whose instructions are told
 * one by one, every combination of the upper 22 bits, with several of the lower ten; of all words, a large sample.
 */

#include <elf.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/macro.h"
#include "tests/arch/oracle.h"
#include "tests/test.h"

#define ADDRESS 0x10000000u
#define MAX_SHOWN 10u
#define MAX_ASKED 400000u

static struct {
	uint64_t n, n_known, n_wrong;
	uint32_t *unsure; /* known to us, not to the library: unpredictable? */
	size_t n_unsure;
} seen;

static struct insn decode(uint32_t word, bool *known)
{
	uint8_t bytes[4] = { (uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
			     (uint8_t)(word >> 24) };
	struct insn insn;

	*known = insn_decode(EM_AARCH64, bytes, sizeof(bytes), ADDRESS, &insn);
	return insn;
}

static void wrong(uint32_t word, const char *what, const char *text, long long ours, long long theirs)
{
	if (seen.n_wrong++ < MAX_SHOWN)
		fprintf(stderr, "%08x: %s: %llx here, %llx by LLVM: %s\n", word, what, ours, theirs, text);
}

static int register_of(uint8_t number)
{
	return number == INSN_NO_REGISTER ? -1 : number == INSN_OTHER_REGISTER ? 31 : number;
}

static void operands_compare(uint32_t word, const struct insn *insn, const struct oracle *o)
{
	uint64_t addresses = (o->base >= 0 && o->base < 31 ? 1ull << o->base : 0) |
			     (o->index >= 0 && o->index < 31 ? 1ull << o->index : 0);
	int index = o->index == 31 ? -1 : o->index; /* zero */

	if (register_of(insn->base) != o->base)
		wrong(word, "base", o->text, register_of(insn->base), o->base);
	/* The index behind the brackets is added afterwards. */
	if (register_of(insn->index) != index)
		wrong(word, "index", o->text, register_of(insn->index), index);
	if (insn->addresses != addresses)
		wrong(word, "address registers", o->text, (long long)insn->addresses, (long long)addresses);
	if (insn->offset != (o->base < 0 ? (int64_t)ADDRESS : 0) + o->offset)
		wrong(word, "offset", o->text, insn->offset, o->offset);
	if (o->has_registers && insn->width != o->width)
		wrong(word, "width", o->text, insn->width, o->width);
	if (o->has_registers && insn->writes != o->writes)
		wrong(word, "registers written", o->text, (long long)insn->writes, (long long)o->writes);
	if (addresses & ~insn->reads)
		wrong(word, "registers read", o->text, (long long)insn->reads, (long long)addresses);
}

/* @is_exact: the word is of a group of which every word that is not allocated is unknown here, too */
static void compare(uint32_t word, bool is_exact)
{
	const unsigned memory = INSN_LOADS | INSN_STORES | INSN_LOCKED | INSN_INDIRECT;
	struct oracle o;
	bool known;
	struct insn insn = decode(word, &known);

	oracle_ask(word, ADDRESS, &o);
	seen.n++;
	seen.n_known += o.known;
	if (o.known && !known) {
		wrong(word, "known", o.text, known, o.known);
	} else if (!o.known && known && is_exact) {
		if (seen.n_unsure < MAX_ASKED)
			seen.unsure[seen.n_unsure++] = word;
	} else if (!known) {
		if (insn.flow != INSN_UNKNOWN || insn.class != INSN_OTHER || insn.size != 4)
			wrong(word, "unknown", "", insn.flow, INSN_UNKNOWN);
	} else if (o.known) {
		if (insn.flow != o.flow)
			wrong(word, "flow", o.text, insn.flow, o.flow);
		if (insn.target != o.target)
			wrong(word, "target", o.text, (long long)insn.target, (long long)o.target);
		if ((insn.flags & memory) != o.flags)
			wrong(word, "flags", o.text, insn.flags & memory, o.flags);
		if (o.has_address)
			operands_compare(word, &insn, &o);
	}
}

static uint32_t random_word(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

static void unsure_decide(void)
{
	bool *undefined = calloc(seen.n_unsure + 1, sizeof(*undefined));

	CHECK(undefined != NULL && seen.n_unsure < MAX_ASKED);
	oracle_undefined(seen.unsure, seen.n_unsure, undefined);
	for (size_t i = 0; i < seen.n_unsure; i++)
		if (!undefined[i])
			wrong(seen.unsure[i], "known", "", true, false);
	free(undefined);
}

static void start(void)
{
	memset(&seen, 0, sizeof(seen));
	seen.unsure = calloc(MAX_ASKED, sizeof(*seen.unsure));
	CHECK(seen.unsure != NULL);
}

static void finish(const char *what)
{
	unsure_decide();
	free(seen.unsure);
	printf("  %s: %llu words, %llu known to LLVM, %zu of them unpredictable\n", what,
	       (unsigned long long)seen.n, (unsigned long long)seen.n_known + seen.n_unsure, seen.n_unsure);
	CHECK(seen.n_known > 0);
	CHECK_INT(seen.n_wrong, 0);
}

/* All words whose bits under @mask are @value, as far as the upper 22 bits go; @n of each, with other lower ones. */
static void group_compare(const char *what, uint32_t mask, uint32_t value, unsigned n)
{
	static const uint32_t chosen[] = { 0x3ff, 0x01f, 0x3e0, 0x000, 0x3fe };

	start();
	for (uint32_t upper = 0; upper < 1u << 22; upper++)
		for (unsigned i = 0; (upper << 10 & mask) == value && i < n; i++)
			compare(upper << 10 |
					(i < ARRAY_SIZE(chosen) && n > 1 ? chosen[i] : random_word() & 0x3ff),
				true);
	finish(what);
}

TEST(branches_exceptions_and_system)
{
	group_compare("branches, exceptions, system", 0x1c000000, 0x14000000, 8);
}

TEST(loads_and_stores)
{
	group_compare("loads, stores", 0x0a000000, 0x08000000, 4);
}

TEST(arithmetic_with_immediates)
{
	group_compare("immediates", 0x1c000000, 0x10000000, 1);
}

TEST(arithmetic_with_registers)
{
	group_compare("registers", 0x0e000000, 0x0a000000, 1);
}

/* Where few bits are free, all of them: branches through registers, exceptions, barriers and hints, undefined. */
TEST(every_word_of_narrow_encodings)
{
	start();
	for (uint32_t low = 0; low < 1u << 16; low++) {
		static const uint32_t highs[] = { 0xd61f, 0xd63f, 0xd65f, 0xd69f, 0xd6bf, 0xd6ff,
						  0xd71f, 0xd73f, 0xd503, 0xd400, 0xd420, 0xd440,
						  0xd4a0, 0xd4e0, 0x0000, 0xdac1 };

		for (size_t i = 0; i < ARRAY_SIZE(highs); i++)
			compare(highs[i] << 16 | low, true);
	}
	finish("narrow encodings");
}

/* Vectors, SVE and SME, too: what they are is not told word by word, but flow, and whether memory is touched. */
TEST(words_of_all_kinds)
{
	start();
	for (unsigned i = 0; i < 2000000; i++)
		compare(random_word(), false);
	finish("all");
}

TEST(a_word_that_is_cut_off_is_unknown)
{
	uint8_t bytes[] = { 0xc0, 0x03, 0x5f, 0xd6 };
	struct insn insn;

	for (size_t n = 1; n < 4; n++) {
		CHECK(!insn_decode(EM_AARCH64, bytes, n, 0, &insn));
		CHECK_INT(insn.flow, INSN_UNKNOWN);
		CHECK_INT(insn.size, n);
		CHECK_INT(insn_count(EM_AARCH64, bytes, n), 1);
	}
	CHECK(insn_decode(EM_AARCH64, bytes, 4, 0, &insn));
	CHECK_INT(insn.flow, INSN_RETURNS);
}

TEST_MAIN()
