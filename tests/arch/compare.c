/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/arch/compare.h"

#include <assert.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "tests/arch/oracle.h"

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

/* Of integers, by bits 28..25, and scalar floating point. */
static bool is_arithmetic(uint32_t word)
{
	unsigned group = word >> 25 & 15;

	return group == 8 || group == 9 || group == 5 || group == 13 || (word >> 25 & 63) == 15;
}

void compare_word(uint32_t word, bool is_exact)
{
	const unsigned memory = INSN_LOADS | INSN_STORES | INSN_LOCKED | INSN_INDIRECT;
	struct oracle o;
	bool known;
	struct insn insn = decode(word, &known);

	oracle_ask(word, ADDRESS, is_arithmetic(word), &o);
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
		if (o.has_operands && insn.writes != o.writes)
			wrong(word, "registers written", o.text, (long long)insn.writes, (long long)o.writes);
		if (o.has_operands && insn.reads != o.reads)
			wrong(word, "registers read", o.text, (long long)insn.reads, (long long)o.reads);
		if (o.has_address)
			operands_compare(word, &insn, &o);
	}
}

static void unsure_decide(void)
{
	bool *undefined = calloc(seen.n_unsure + 1, sizeof(*undefined));

	assert(undefined && seen.n_unsure < MAX_ASKED);
	oracle_undefined(seen.unsure, seen.n_unsure, undefined);
	for (size_t i = 0; i < seen.n_unsure; i++)
		if (!undefined[i])
			wrong(seen.unsure[i], "known", "", true, false);
	free(undefined);
}

void compare_begin(void)
{
	memset(&seen, 0, sizeof(seen));
	seen.unsure = calloc(MAX_ASKED, sizeof(*seen.unsure));
	assert(seen.unsure);
}

uint64_t compare_end(const char *what)
{
	if (seen.n_unsure)
		unsure_decide();
	free(seen.unsure);
	printf("  %s: %llu words, %llu known to LLVM, %zu of them unpredictable, %llu disagree\n", what,
	       (unsigned long long)seen.n, (unsigned long long)seen.n_known + seen.n_unsure, seen.n_unsure,
	       (unsigned long long)seen.n_wrong);
	return seen.n_wrong + (seen.n_known == 0);
}
