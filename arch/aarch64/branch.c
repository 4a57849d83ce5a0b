/* SPDX-License-Identifier: Apache-2.0 */

#include "arch/aarch64/a64.h"

/* Where the distance to the target stands. */
enum { NO_TARGET, IMM26, IMM19, IMM14, IMM9 };

/* What is read, and that the return address is written. */
enum {
	RT = 1 << 0, /* bits 4..0 */
	RN = 1 << 1, /* bits 9..5 */
	RM = 1 << 2, /* bits 20..16 */
	RD = 1 << 3, /* bits 4..0, as a modifier: like RT */
	COND = 1 << 4,
	LINK = 1 << 5, /* x30 is written */
	BACK = 1 << 6, /* x30 is read */
	RT_WRITTEN = 1 << 7,
	RT_PAIR = 1 << 8, /* RT and the next one */
	RT_PAIR_WRITTEN = 1 << 9,
};

#define INDIRECT INSN_INDIRECT

/* clang-format off */
static const struct row {
	uint32_t mask, value;
	uint8_t class, flow, flags, target;
	uint16_t registers;
} rows[] = {
	/* C4.1: branches */
	{ 0xfc000000, 0x14000000, INSN_JUMP,   INSN_JUMPS,    0,        IMM26,     0 },          /* b */
	{ 0xfc000000, 0x94000000, INSN_CALL,   INSN_CALLS,    0,        IMM26,     LINK },       /* bl */
	{ 0xff000000, 0x54000000, INSN_BRANCH, INSN_BRANCHES, 0,        IMM19,     COND },       /* b.cond, bc.cond */
	{ 0x7e000000, 0x34000000, INSN_BRANCH, INSN_BRANCHES, 0,        IMM19,     RT },         /* cbz, cbnz */
	{ 0x7e000000, 0x36000000, INSN_BRANCH, INSN_BRANCHES, 0,        IMM14,     RT },         /* tbz, tbnz */
	{ 0xfffffc1f, 0xd61f0000, INSN_JUMP,   INSN_JUMPS,    INDIRECT, NO_TARGET, RN },         /* br */
	{ 0xfffff81f, 0xd61f081f, INSN_JUMP,   INSN_JUMPS,    INDIRECT, NO_TARGET, RN },         /* braaz, brabz */
	{ 0xfffff800, 0xd71f0800, INSN_JUMP,   INSN_JUMPS,    INDIRECT, NO_TARGET, RN | RD },    /* braa, brab */
	{ 0xfffffc1f, 0xd63f0000, INSN_CALL,   INSN_CALLS,    INDIRECT, NO_TARGET, RN | LINK },  /* blr */
	{ 0xfffff81f, 0xd63f081f, INSN_CALL,   INSN_CALLS,    INDIRECT, NO_TARGET, RN | LINK },  /* blraaz, blrabz */
	{ 0xfffff800, 0xd73f0800, INSN_CALL,   INSN_CALLS,    INDIRECT, NO_TARGET, RN | RD | LINK }, /* blraa, blrab */
	{ 0xfffffc1f, 0xd65f0000, INSN_RETURN, INSN_RETURNS,  0,        NO_TARGET, RN },         /* ret */
	{ 0xfffffbff, 0xd65f0bff, INSN_RETURN, INSN_RETURNS,  0,        NO_TARGET, BACK },       /* retaa, retab */
	{ 0xfffffbe0, 0xd65f0be0, INSN_RETURN, INSN_RETURNS,  0,        NO_TARGET, BACK | RD },  /* retaasppcr, retabsppcr */
	{ 0xffc0001f, 0x5500001f, INSN_RETURN, INSN_RETURNS,  0,        NO_TARGET, BACK },       /* retaasppc, retabsppc */
	{ 0xffffffff, 0xd69f03e0, INSN_RETURN, INSN_RETURNS,  0,        NO_TARGET, 0 },          /* eret */
	{ 0xfffffbff, 0xd69f0bff, INSN_RETURN, INSN_RETURNS,  0,        NO_TARGET, 0 },          /* eretaa, eretab */
	{ 0xffffffff, 0xd6bf03e0, INSN_RETURN, INSN_RETURNS,  0,        NO_TARGET, 0 },          /* drps */
	{ 0xfffffbff, 0xd6ff03e0, INSN_RETURN, INSN_RETURNS,  0,        NO_TARGET, 0 },          /* texit */
	/* compare and branch; conditions 4 and 5 are not allocated */
	{ 0x7f80c000, 0x74000000, INSN_BRANCH, INSN_BRANCHES, 0,        IMM9,      RT | RM },    /* cb gt, ge, hi, hs */
	{ 0xff80c000, 0x74008000, INSN_BRANCH, INSN_BRANCHES, 0,        IMM9,      RT | RM },    /* cbb gt, ge, hi, hs */
	{ 0xff80c000, 0x7400c000, INSN_BRANCH, INSN_BRANCHES, 0,        IMM9,      RT | RM },    /* cbh gt, ge, hi, hs */
	{ 0x7f804000, 0x75000000, INSN_BRANCH, INSN_BRANCHES, 0,        IMM9,      RT },         /* cb gt, lt, hi, lo, immediate */
	{ 0x7fc0c000, 0x74c00000, INSN_BRANCH, INSN_BRANCHES, 0,        IMM9,      RT | RM },    /* cb eq, ne */
	{ 0xffc0c000, 0x74c08000, INSN_BRANCH, INSN_BRANCHES, 0,        IMM9,      RT | RM },    /* cbb eq, ne */
	{ 0xffc0c000, 0x74c0c000, INSN_BRANCH, INSN_BRANCHES, 0,        IMM9,      RT | RM },    /* cbh eq, ne */
	{ 0x7fc04000, 0x75c00000, INSN_BRANCH, INSN_BRANCHES, 0,        IMM9,      RT },         /* cb eq, ne, immediate */
	/* exceptions */
	{ 0xffe0001f, 0xd4000001, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, 0 },          /* svc */
	{ 0xffe0001f, 0xd4000002, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, 0 },          /* hvc */
	{ 0xffe0001f, 0xd4000003, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, 0 },          /* smc */
	{ 0xffe0001f, 0xd4200000, INSN_OTHER,  INSN_TRAPS,    0,        NO_TARGET, 0 },          /* brk */
	{ 0xffe0001f, 0xd4400000, INSN_OTHER,  INSN_TRAPS,    0,        NO_TARGET, 0 },          /* hlt */
	{ 0xffe0001f, 0xd4a00001, INSN_OTHER,  INSN_TRAPS,    0,        NO_TARGET, 0 },          /* dcps1 */
	{ 0xffe0001f, 0xd4a00002, INSN_OTHER,  INSN_TRAPS,    0,        NO_TARGET, 0 },          /* dcps2 */
	{ 0xffe0001f, 0xd4a00003, INSN_OTHER,  INSN_TRAPS,    0,        NO_TARGET, 0 },          /* dcps3 */
	{ 0xfffdf01f, 0xd4e00000, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, 0 },          /* tenter */
	{ 0xffff0000, 0x00000000, INSN_OTHER,  INSN_TRAPS,    0,        NO_TARGET, 0 },          /* udf */
	/* system; hints that are not allocated do nothing */
	{ 0xfffff01f, 0xd503201f, INSN_NOP,    INSN_FALLS,    0,        NO_TARGET, 0 },          /* hints */
	{ 0xffffffc0, 0xd5031000, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, RT },         /* wfet, wfit */
	{ 0xfffff0ff, 0xd503305f, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, 0 },          /* clrex */
	{ 0xfffff0ff, 0xd503309f, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, 0 },          /* dsb */
	{ 0xfffff0ff, 0xd50330bf, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, 0 },          /* dmb */
	{ 0xfffff0ff, 0xd50330df, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, 0 },          /* isb */
	{ 0xffffffff, 0xd50330ff, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, 0 },          /* sb */
	{ 0xfffff3ff, 0xd503323f, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, 0 },          /* dsb nXS */
	{ 0xfff80000, 0xd5080000, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, RT },         /* sys */
	{ 0xfff80000, 0xd5280000, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, RT_WRITTEN }, /* sysl */
	{ 0xfff80001, 0xd5480000, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, RT_PAIR },    /* sysp */
	{ 0xfff8001f, 0xd548001f, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, RT_PAIR },    /* sysp, of zero */
	{ 0xffe00001, 0xd5400000, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, RT_PAIR },    /* msrr */
	{ 0xffe00001, 0xd5600000, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, RT_PAIR_WRITTEN }, /* mrrs */
	{ 0xffe00000, 0xd5000000, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, RT },         /* msr */
	{ 0xffe00000, 0xd5200000, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, RT_WRITTEN }, /* mrs */
	{ 0xfff9fc00, 0xd5800000, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, RN | RT_WRITTEN }, /* tchangef, tchangeb */
	{ 0xfff9f000, 0xd5900000, INSN_SYSTEM, INSN_FALLS,    0,        NO_TARGET, RT_WRITTEN }, /* with an immediate */
};
/* clang-format on */

static uint64_t target_of(uint32_t word, uint64_t address, unsigned kind)
{
	switch (kind) {
	case IMM26: return address + 4 * (uint64_t)a64_signed(word, 0, 26);
	case IMM19: return address + 4 * (uint64_t)a64_signed(word, 5, 19);
	case IMM14: return address + 4 * (uint64_t)a64_signed(word, 5, 14);
	case IMM9: return address + 4 * (uint64_t)a64_signed(word, 5, 9);
	default: return 0;
	}
}

bool a64_branch(uint32_t word, uint64_t address, struct insn *ret)
{
	const struct row *row = rows;

	while (row < rows + sizeof(rows) / sizeof(*rows) && (word & row->mask) != row->value)
		row++;
	if (row == rows + sizeof(rows) / sizeof(*rows))
		return false;
	ret->class = row->class;
	ret->flow = row->flow;
	ret->flags = row->flags;
	ret->target = target_of(word, address, row->target);
	ret->reads = (row->registers & RT_PAIR ? a64_general(word) | a64_general((word & 31) + 1) : 0) |
		     (row->registers & (RT | RD) ? a64_general(word) : 0) |
		     (row->registers & RN ? a64_general(word >> 5) : 0) |
		     (row->registers & RM ? a64_general(word >> 16) : 0) |
		     (row->registers & BACK ? a64_general(30) : 0) |
		     (row->registers & COND ? INSN_FLAGS_REGISTER : 0);
	ret->writes =
		(row->registers & RT_PAIR_WRITTEN ? a64_general(word) | a64_general((word & 31) + 1) : 0) |
		(row->registers & LINK ? a64_general(30) : 0) |
		(row->registers & RT_WRITTEN ? a64_general(word) : 0);
	return true;
}
