/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Everything that is neither a branch nor a load or store. Integer instructions and scalar floating point are told one by
 * one; of vectors, SVE and SME only the group is, which is what costs depend on: a word of theirs that is not allocated is
 * taken for its neighbours. All of them go on to the next instruction.
 */

#include "arch/aarch64/a64.h"
#include "base/macro.h"

enum {
	D = 1 << 0,	     /* bits 4..0 are written */
	N = 1 << 1,	     /* bits 9..5 are read */
	M = 1 << 2,	     /* bits 20..16 */
	A = 1 << 3,	     /* bits 14..10 */
	ITSELF = 1 << 4,     /* bits 4..0 are read */
	READS_NZCV = 1 << 5, /* flags */
	NZCV = 1 << 6,	     /* are written */
	S = 1 << 7,	     /* the same if bit 29 is set */
	D_IN_V = 1 << 8,     /* D, ITSELF are vectors */
	N_IN_V = 1 << 9,     /* N, M, A are */
	IN_V = D_IN_V | N_IN_V,
	NM = N | M,
	DN = D | N,
	DNM = D | N | M,
};

struct row {
	uint32_t mask, value;
	uint8_t class;
	uint16_t registers;
};

/* clang-format off */
/* Bits 28..26 are 100: immediates. Of 32 bits first, where they have less room for numbers. */
static const struct row immediates[] = {
	{ 0x1f000000, 0x10000000, INSN_ALU,   D },                 /* adr, adrp */
	{ 0x1f800000, 0x11000000, INSN_ALU,   DN | S },            /* add, sub */
	{ 0xbfc0c000, 0x91800000, INSN_ALU,   DN },                /* addg, subg */
	{ 0x7ff00000, 0x11c00000, INSN_ALU,   DN },                /* smax, umax, smin, umin */
	{ 0xffc00000, 0x72000000, INSN_ALU,   DN | NZCV },         /* ands */
	{ 0xff800000, 0xf2000000, INSN_ALU,   DN | NZCV },
	{ 0x9fc00000, 0x12000000, INSN_ALU,   DN },                /* and, orr, eor */
	{ 0x9f800000, 0x92000000, INSN_ALU,   DN },
	{ 0xffc00000, 0x12800000, INSN_ALU,   D },                 /* movn */
	{ 0xff800000, 0x92800000, INSN_ALU,   D },
	{ 0xffc00000, 0x52800000, INSN_ALU,   D },                 /* movz */
	{ 0xff800000, 0xd2800000, INSN_ALU,   D },
	{ 0xffc00000, 0x72800000, INSN_ALU,   D | ITSELF },        /* movk */
	{ 0xff800000, 0xf2800000, INSN_ALU,   D | ITSELF },
	{ 0xbfe08000, 0x13000000, INSN_SHIFT, DN },                /* sbfm, ubfm */
	{ 0xbfc00000, 0x93400000, INSN_SHIFT, DN },
	{ 0xffe08000, 0x33000000, INSN_SHIFT, DN | ITSELF },       /* bfm */
	{ 0xffc00000, 0xb3400000, INSN_SHIFT, DN | ITSELF },
	{ 0xffe08000, 0x13800000, INSN_SHIFT, DNM },               /* extr */
	{ 0xffe00000, 0x93c00000, INSN_SHIFT, DNM },
	{ 0xffc0001f, 0xf380001f, INSN_ALU,   0 },                 /* autiasppc, autibsppc: x30, and its address */
};

/* Bits 27..25 are 101: registers. */
static const struct row registers[] = {
	{ 0xff008000, 0x6a000000, INSN_ALU,      DNM | NZCV },     /* ands, bics */
	{ 0xff000000, 0xea000000, INSN_ALU,      DNM | NZCV },
	{ 0x9f008000, 0x0a000000, INSN_ALU,      DNM },            /* and, orr, eor; bic, orn, eon */
	{ 0x9f000000, 0x8a000000, INSN_ALU,      DNM },
	{ 0x9fa08000, 0x0b000000, INSN_ALU,      DNM | S },        /* add, sub: lsl, lsr */
	{ 0x9fa00000, 0x8b000000, INSN_ALU,      DNM | S },
	{ 0x9fe08000, 0x0b800000, INSN_ALU,      DNM | S },        /* asr */
	{ 0x9fe00000, 0x8b800000, INSN_ALU,      DNM | S },
	{ 0x1fe01000, 0x0b200000, INSN_ALU,      DNM | S },        /* extended */
	{ 0x1fe01c00, 0x0b201000, INSN_ALU,      DNM | S },
	{ 0x1fe0fc00, 0x1a000000, INSN_ALU,      DNM | S | READS_NZCV }, /* adc, sbc */
	{ 0xbfe0e000, 0x9a002000, INSN_ALU,      DNM },            /* addpt, subpt */
	{ 0xffe07c10, 0xba000400, INSN_ALU,      N | NZCV },       /* rmif */
	{ 0xffffbc1f, 0x3a00080d, INSN_ALU,      N | NZCV },       /* setf8, setf16 */
	{ 0x3fe00c10, 0x3a400000, INSN_ALU,      NM | NZCV | READS_NZCV }, /* ccmn, ccmp */
	{ 0x3fe00c10, 0x3a400800, INSN_ALU,      N | NZCV | READS_NZCV },
	{ 0x3fe00800, 0x1a800000, INSN_SELECT,   DNM | READS_NZCV }, /* csel, csinc, csinv, csneg */
	{ 0x7fe0f800, 0x1ac00800, INSN_DIVIDE,   DNM },            /* udiv, sdiv */
	{ 0x7fe0f000, 0x1ac02000, INSN_SHIFT,    DNM },            /* lslv, lsrv, asrv, rorv */
	{ 0xffe0e800, 0x1ac04000, INSN_MULTIPLY, DNM },            /* crc32b, crc32h, crc32cb, crc32ch */
	{ 0xffe0ec00, 0x1ac04800, INSN_MULTIPLY, DNM },            /* crc32w, crc32cw */
	{ 0xffe0ec00, 0x9ac04c00, INSN_MULTIPLY, DNM },            /* crc32x, crc32cx */
	{ 0x7fe0f000, 0x1ac06000, INSN_ALU,      DNM },            /* smax, umax, smin, umin */
	{ 0xdfe0fc00, 0x9ac00000, INSN_ALU,      DNM | S },        /* subp, subps */
	{ 0xffe0fc00, 0x9ac01000, INSN_ALU,      DNM },            /* irg */
	{ 0xffe0fc00, 0x9ac01400, INSN_ALU,      DNM },            /* gmi */
	{ 0xffe0fc00, 0x9ac03000, INSN_MULTIPLY, DNM },            /* pacga */
	{ 0x7ffff800, 0x5ac00000, INSN_SHIFT,    DN },             /* rbit, rev16 */
	{ 0x7ffffc00, 0x5ac00800, INSN_SHIFT,    DN },             /* rev, rev32 */
	{ 0xfffffc00, 0xdac00c00, INSN_SHIFT,    DN },             /* rev of 64 bits */
	{ 0x7ffff000, 0x5ac01000, INSN_SHIFT,    DN },             /* clz, cls, ctz, cnt */
	{ 0x7ffffc00, 0x5ac02000, INSN_ALU,      DN },             /* abs */
	{ 0xffffe000, 0xdac10000, INSN_MULTIPLY, DN | ITSELF },    /* pacia ... autdb */
	{ 0xffffe3e0, 0xdac123e0, INSN_MULTIPLY, D | ITSELF },     /* paciza ... autdzb */
	{ 0xfffffbff, 0xdac183fe, INSN_MULTIPLY, 0 },              /* pacnbiasppc, pacnbibsppc: on fixed registers */
	{ 0xfffffbff, 0xdac1a3fe, INSN_MULTIPLY, 0 },              /* paciasppc, pacibsppc */
	{ 0xfffffbff, 0xdac18bfe, INSN_MULTIPLY, 0 },              /* pacia171615, pacib171615 */
	{ 0xfffffbff, 0xdac1bbfe, INSN_MULTIPLY, 0 },              /* autia171615, autib171615 */
	{ 0xfffffc1f, 0xdac1901e, INSN_MULTIPLY, N },              /* autiasppcr */
	{ 0xfffffc1f, 0xdac1941e, INSN_MULTIPLY, N },              /* autibsppcr */
	{ 0xfffffbe0, 0xdac143e0, INSN_ALU,      D | ITSELF },     /* xpaci, xpacd */
	{ 0x7fe00000, 0x1b000000, INSN_MULTIPLY, DNM | A },        /* madd, msub */
	{ 0xff600000, 0x9b200000, INSN_MULTIPLY, DNM | A },        /* smaddl, smsubl; umaddl, umsubl */
	{ 0xff60fc00, 0x9b407c00, INSN_MULTIPLY, DNM },            /* smulh, umulh */
	{ 0xffe00000, 0x9b600000, INSN_MULTIPLY, DNM | A },        /* maddpt, msubpt */
};

/*
 * Scalar floating point: bits 30..25 are 001111. Which widths there are depends: `types` has a bit for each value of bits 31
 * (the general register has 64 bits), 23 and 22.
 */
enum {
	S32 = 1 << 0, D32 = 1 << 1, H32 = 1 << 3,                /* single, double, half */
	S64 = 1 << 4, D64 = 1 << 5, UPPER64 = 1 << 6, H64 = 1 << 7, /* upper half of a vector */
	FLOATS = S32 | D32 | H32,
	BOTH = FLOATS | S64 | D64 | H64,
	FROM_V = D | N | N_IN_V, /* from a vector register to a general one, and back */
	TO_V = D | N | D_IN_V,
	IN_DN = D | N | IN_V,
	IN_DNM = D | N | M | IN_V,
};

static const struct {
	struct row row;
	uint8_t types;
} scalars[] = {
	{ { 0x7f000000, 0x1f000000, INSN_FLOAT,        IN_DNM | A },      FLOATS },       /* fmadd, fmsub, fnmadd, fnmsub */
	{ { 0x7f20fc00, 0x1e201800, INSN_FLOAT_DIVIDE, IN_DNM },          FLOATS },       /* fdiv */
	{ { 0x7f208c00, 0x1e200800, INSN_FLOAT,        IN_DNM },          FLOATS },       /* fmul, fadd ... fminnm */
	{ { 0x7f20fc00, 0x1e208800, INSN_FLOAT,        IN_DNM },          FLOATS },       /* fnmul */
	{ { 0x7f200c00, 0x1e200c00, INSN_FLOAT,        IN_DNM | READS_NZCV }, FLOATS },   /* fcsel */
	{ { 0x7f200c00, 0x1e200400, INSN_FLOAT,        NM | READS_NZCV | NZCV | IN_V }, FLOATS }, /* fccmp */
	{ { 0x7f20fc0f, 0x1e202000, INSN_FLOAT,        NM | NZCV | IN_V }, FLOATS },      /* fcmp */
	{ { 0x7f20fc0f, 0x1e202008, INSN_FLOAT,        N | NZCV | IN_V }, FLOATS },       /* fcmp with zero */
	{ { 0x7f201fe0, 0x1e201000, INSN_FLOAT,        D | IN_V },        FLOATS },       /* fmov of a constant */
	{ { 0x7f3f7c00, 0x1e204000, INSN_FLOAT,        IN_DN },           FLOATS },       /* fmov, fabs */
	{ { 0x7f3ffc00, 0x1e214000, INSN_FLOAT,        IN_DN },           FLOATS },       /* fneg */
	{ { 0x7f3ffc00, 0x1e21c000, INSN_FLOAT_DIVIDE, IN_DN },           FLOATS },       /* fsqrt */
	{ { 0x7f3ffc00, 0x1e224000, INSN_FLOAT,        IN_DN },           D32 | H32 },    /* fcvt to single */
	{ { 0x7f3ffc00, 0x1e22c000, INSN_FLOAT,        IN_DN },           S32 | H32 },    /* ... double */
	{ { 0x7f3ffc00, 0x1e234000, INSN_FLOAT,        IN_DN },           D32 },          /* bfcvt */
	{ { 0x7f3ffc00, 0x1e23c000, INSN_FLOAT,        IN_DN },           S32 | D32 },    /* fcvt to half */
	{ { 0x7f3f7c00, 0x1e244000, INSN_FLOAT,        IN_DN },           FLOATS },       /* frintn, frintp */
	{ { 0x7f3f7c00, 0x1e254000, INSN_FLOAT,        IN_DN },           FLOATS },       /* frintm, frintz */
	{ { 0x7f3ffc00, 0x1e264000, INSN_FLOAT,        IN_DN },           FLOATS },       /* frinta */
	{ { 0x7f3f7c00, 0x1e274000, INSN_FLOAT,        IN_DN },           FLOATS },       /* frintx, frinti */
	{ { 0x7f3f7c00, 0x1e284000, INSN_FLOAT,        IN_DN },           S32 | D32 },    /* frint32z, frint32x */
	{ { 0x7f3f7c00, 0x1e294000, INSN_FLOAT,        IN_DN },           S32 | D32 },    /* frint64z, frint64x */
	{ { 0x7f3efc00, 0x1e200000, INSN_FLOAT,        FROM_V },          BOTH },         /* fcvtns, fcvtnu */
	{ { 0x7f3efc00, 0x1e220000, INSN_FLOAT,        TO_V },            BOTH },         /* scvtf, ucvtf */
	{ { 0x7f3efc00, 0x1e240000, INSN_FLOAT,        FROM_V },          BOTH },         /* fcvtas, fcvtau */
	{ { 0x7f3ffc00, 0x1e260000, INSN_FLOAT,        FROM_V },          S32 | H32 | D64 | H64 }, /* fmov */
	{ { 0x7f3ffc00, 0x1e270000, INSN_FLOAT,        TO_V },            S32 | H32 | D64 | H64 },
	{ { 0x7f3efc00, 0x1e280000, INSN_FLOAT,        FROM_V },          BOTH },         /* fcvtps, fcvtpu */
	{ { 0x7f3efc00, 0x1e300000, INSN_FLOAT,        FROM_V },          BOTH },         /* fcvtms, fcvtmu */
	{ { 0x7f3efc00, 0x1e380000, INSN_FLOAT,        FROM_V },          BOTH },         /* fcvtzs, fcvtzu */
	{ { 0x7f3efc00, 0x1e2a0000, INSN_FLOAT,        IN_DN },           D32 | H32 | S64 | H64 }, /* the same, to vectors */
	{ { 0x7f3efc00, 0x1e320000, INSN_FLOAT,        IN_DN },           D32 | H32 | S64 | H64 },
	{ { 0x7f3efc00, 0x1e340000, INSN_FLOAT,        IN_DN },           D32 | H32 | S64 | H64 },
	{ { 0x7f3efc00, 0x1e360000, INSN_FLOAT,        IN_DN },           D32 | H32 | S64 | H64 },
	{ { 0x7f3efc00, 0x1e3a0000, INSN_FLOAT,        IN_DN },           D32 | H32 | S64 | H64 },
	{ { 0x7f3efc00, 0x1e3c0000, INSN_FLOAT,        IN_DN },           D32 | H32 | S64 | H64 },
	{ { 0x7f3ffc00, 0x1e3e0000, INSN_FLOAT,        FROM_V },          D32 },          /* fjcvtzs */
	{ { 0x7f3ffc00, 0x1e2e0000, INSN_FLOAT,        FROM_V },          UPPER64 },      /* fmov */
	{ { 0x7f3ffc00, 0x1e2f0000, INSN_FLOAT,        TO_V | ITSELF },   UPPER64 },
	{ { 0x7f3e8000, 0x1e028000, INSN_FLOAT,        TO_V },            FLOATS },       /* scvtf, ucvtf, fixed point */
	{ { 0x7f3e0000, 0x1e020000, INSN_FLOAT,        TO_V },            S64 | D64 | H64 },
	{ { 0x7f3e8000, 0x1e188000, INSN_FLOAT,        FROM_V },          FLOATS },       /* fcvtzs, fcvtzu, fixed point */
	{ { 0x7f3e0000, 0x1e180000, INSN_FLOAT,        FROM_V },          S64 | D64 | H64 },
};

/* Other words whose bits 27..25 are 111: vectors. The last row is for all that no other tells better. */
static const struct row vectors[] = {
	{ 0xbfa0fc00, 0x2e20fc00, INSN_FLOAT_DIVIDE, DNM | IN_V },          /* fdiv */
	{ 0xbfe0fc00, 0x2e403c00, INSN_FLOAT_DIVIDE, DNM | IN_V },
	{ 0xbfbffc00, 0x2ea1f800, INSN_FLOAT_DIVIDE, DN | IN_V },           /* fsqrt */
	{ 0xbffffc00, 0x2ef9f800, INSN_FLOAT_DIVIDE, DN | IN_V },
	{ 0xbfe0ec00, 0x0e002c00, INSN_VECTOR,       DN | N_IN_V },         /* umov, smov */
	{ 0xbfe0fc00, 0x0e000c00, INSN_VECTOR,       DN | D_IN_V },         /* dup */
	{ 0xffe0fc00, 0x4e001c00, INSN_VECTOR,       DN | ITSELF | D_IN_V }, /* ins */
	{ 0x9f20c400, 0x0e20c400, INSN_FLOAT,        DNM | ITSELF | IN_V }, /* fadd, fmul, fmla ... */
	{ 0x00000000, 0x00000000, INSN_VECTOR,       DNM | ITSELF | IN_V },
};
/* clang-format on */

/*
 * SVE and SME: bits 28..25 are 0010, or, with bit 31, 0000. What loads and what stores; registers are not told.
 * A prefetch does neither.
 */
/* clang-format off */
static const struct { uint32_t mask, value; uint8_t class, flags; } scalable[] = {
	{ 0xffa08010, 0x84200000, INSN_NOP,    0 },           /* prfb ... prfd */
	{ 0xffc08010, 0x85c00000, INSN_NOP,    0 },
	{ 0xfe60e010, 0x8400c000, INSN_NOP,    0 },
	{ 0xfe60e010, 0x8400e000, INSN_NOP,    0 },
	{ 0xffa08010, 0xc4200000, INSN_NOP,    0 },
	{ 0xffe08010, 0xc4608000, INSN_NOP,    0 },
	{ 0xfe60e010, 0xc400e000, INSN_NOP,    0 },
	{ 0xbe000000, 0x84000000, INSN_VECTOR, INSN_LOADS },  /* ld1, ldr: contiguous, gathered */
	{ 0xfe000000, 0xa4000000, INSN_VECTOR, INSN_LOADS },
	{ 0xfe000000, 0xe4000000, INSN_VECTOR, INSN_STORES },
	{ 0xfea00000, 0xa0000000, INSN_VECTOR, INSN_LOADS },  /* several vectors */
	{ 0xfea00000, 0xa0200000, INSN_VECTOR, INSN_STORES },
	{ 0xfe200000, 0xe0000000, INSN_VECTOR, INSN_LOADS },  /* of the matrix */
	{ 0xfe200000, 0xe0200000, INSN_VECTOR, INSN_STORES },
	{ 0x1e000000, 0x04000000, INSN_VECTOR, 0 },
	{ 0x9e000000, 0x80000000, INSN_VECTOR, 0 },
};
/* clang-format on */

static bool scalable_read(uint32_t word, struct insn *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(scalable); i++) {
		if ((word & scalable[i].mask) != scalable[i].value)
			continue;
		ret->class = scalable[i].class;
		ret->flags = scalable[i].flags;
		return true;
	}
	return false;
}

static void registers_read(uint32_t word, const struct row *row, struct insn *ret)
{
	uint64_t (*d)(uint32_t) = row->registers & D_IN_V ? a64_vector : a64_general;
	uint64_t (*s)(uint32_t) = row->registers & N_IN_V ? a64_vector : a64_general;

	ret->class = row->class;
	ret->reads = (row->registers & N ? s(word >> 5) : 0) | (row->registers & M ? s(word >> 16) : 0) |
		     (row->registers & A ? s(word >> 10) : 0) | (row->registers & ITSELF ? d(word) : 0) |
		     (row->registers & READS_NZCV ? INSN_FLAGS_REGISTER : 0);
	ret->writes =
		(row->registers & D ? d(word) : 0) |
		(row->registers & NZCV || (row->registers & S && word >> 29 & 1) ? INSN_FLAGS_REGISTER : 0);
}

static bool row_read(uint32_t word, const struct row *rows, size_t n, struct insn *ret)
{
	for (size_t i = 0; i < n; i++)
		if ((word & rows[i].mask) == rows[i].value) {
			registers_read(word, &rows[i], ret);
			return true;
		}
	return false;
}

static bool scalar_read(uint32_t word, struct insn *ret)
{
	unsigned type = 1u << (word >> 31 << 2 | a64_field(word, 22, 2));

	for (size_t i = 0; i < ARRAY_SIZE(scalars); i++)
		if ((word & scalars[i].row.mask) == scalars[i].row.value && scalars[i].types & type) {
			registers_read(word, &scalars[i].row, ret);
			return true;
		}
	return false;
}

/* and, orr, eor, ands with an immediate: runs of ones in elements of 2 to 64 bits; all ones are none. */
static bool bit_mask_is_valid(uint32_t word)
{
	unsigned imms = a64_field(word, 10, 6), n = a64_field(word, 22, 1);
	unsigned kind = n << 6 | (~imms & 63); /* its highest bit says how long an element is */
	unsigned ones;

	if (kind < 2)
		return false;
	ones = (1u << (31 - __builtin_clz(kind))) - 1;
	return (imms & ones) != ones;
}

bool a64_data(uint32_t word, struct insn *ret)
{
	switch (a64_field(word, 25, 4)) {
	case 8:
	case 9:
		return row_read(word, immediates, ARRAY_SIZE(immediates), ret) &&
		       (a64_field(word, 23, 3) != 4 || bit_mask_is_valid(word));
	case 5:
	case 13: return row_read(word, registers, ARRAY_SIZE(registers), ret);
	case 7:
	case 15:
		return a64_field(word, 25, 6) == 0x0f ? scalar_read(word, ret) :
							row_read(word, vectors, ARRAY_SIZE(vectors), ret);
	default: return scalable_read(word, ret);
	}
}
