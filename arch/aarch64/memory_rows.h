/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * memory_rows.h - the encodings of loads and stores, for memory.c alone
 *
 * A row says how the address is made, how wide the access is, and which fields name registers that are read or written.
 */

#include "arch/aarch64/a64.h"

/* clang-format off */

/* The address: Rn, bits 9..5, and */
enum {
	BASE,      /* nothing */
	IMM9,      /* bits 20..12, signed */
	PRE9,      /* the same, and the base is written */
	POST9,     /* nothing before the access; the base is written */
	IMM12,     /* bits 21..10, times the width */
	INDEX,     /* Rm, bits 20..16 */
	PAIR7,     /* bits 21..15, signed, times half of the width; bits 24..23: 1 after, 3 before, and the base is written */
	TAG7,      /* the same, times the width */
	POST,      /* nothing before the access; the base is written, and Rm, bits 20..16, is read, unless it is 31 */
	LITERAL,   /* not Rn: the instruction's own address + bits 23..5, signed, in words */
	KEY,       /* bits 22 and 20..12, signed, times 8; bit 11: the base is written */
	TAG9,      /* bits 20..12, signed, times 16; bits 11..10: 1 after, 3 before, and the base is written */
	PRE_WIDTH, /* minus the width; the base is written */
	COPY,      /* memory from here on: all registers are written, how much is not known */
};

/* The width: bytes, or */
enum {
	FIRST_RULE = 0xf0,
	SIZE = FIRST_RULE, /* 1 << bits 31..30 */
	SIZE_PAIR,         /* twice that */
	WORD,              /* 4, or 8 when bit 30 is set */
	WORD_PAIR,         /* twice that */
	FLOAT,             /* SIZE, but never less than 2 */
	LISTS,             /* lists of vectors: list_read() */
	PLAIN,             /* by size, opc and V: plain[]; loads or stores, and which registers, too */
	PLAIN_OR_PREFETCH,
};

/* Registers that fields name. */
enum {
	T = 1 << 0,      /* bits 4..0 */
	T2 = 1 << 1,     /* bits 14..10 */
	S = 1 << 2,      /* bits 20..16 */
	T_PAIR = 1 << 3, /* T and the next one */
	S_PAIR = 1 << 4,
	VECTOR = 1 << 5, /* they are vectors */
	LIST = 1 << 6,   /* vectors from T on, as many as the list has */
	EIGHT = 1 << 7,  /* from T on, which is even and at most 22 */
	REAL = 1 << 8,   /* T and S are not 31 */
	TV = T | VECTOR,
};

#define LOAD INSN_LOADS
#define STORE INSN_STORES
#define LOAD_X (INSN_LOADS | INSN_LOCKED) /* exclusive */
#define STORE_X (INSN_STORES | INSN_LOCKED)
#define BOTH (INSN_LOADS | INSN_STORES)
#define RMW (INSN_LOADS | INSN_STORES | INSN_LOCKED)

struct memory_row {
	uint32_t mask, value;
	uint8_t flags, width, form;
	uint16_t reads, writes;
};

/* Bits 29..27 are 001: exclusive, ordered, compare and swap; structures of vectors. */
static const struct memory_row rows_1[] = {
	{ 0x3fe00000, 0x08000000, STORE_X, SIZE,      BASE, T,               S },       /* stxr, stlxr */
	{ 0x3fff7c00, 0x085f7c00, LOAD_X,  SIZE,      BASE, 0,               T },       /* ldxr, ldaxr */
	{ 0xbfe00000, 0x88200000, STORE_X, WORD_PAIR, BASE, T | T2,          S },       /* stxp, stlxp */
	{ 0xbfff0000, 0x887f0000, LOAD_X,  WORD_PAIR, BASE, 0,               T | T2 },  /* ldxp, ldaxp */
	{ 0xbfa17c01, 0x08207c00, RMW,     WORD_PAIR, BASE, T_PAIR | S_PAIR, S_PAIR },  /* casp */
	{ 0x3fff7c00, 0x089f7c00, STORE,   SIZE,      BASE, T,               0 },       /* stllr, stlr */
	{ 0x3fff7c00, 0x08df7c00, LOAD,    SIZE,      BASE, 0,               T },       /* ldlar, ldar */
	{ 0x3fa07c00, 0x08a07c00, RMW,     SIZE,      BASE, T | S,           S },       /* cas */
	{ 0xbfe07c00, 0x89007c00, STORE_X, SIZE,      BASE, T,               S },       /* sttxr, stltxr */
	{ 0xbfff7c00, 0x895f7c00, LOAD_X,  SIZE,      BASE, 0,               T },       /* ldtxr, ldatxr */
	{ 0xffa17c01, 0x49807c00, RMW,     16,        BASE, T_PAIR | S_PAIR, S_PAIR },  /* caspt */
	{ 0xffa07c00, 0xc9807c00, RMW,     8,         BASE, T | S,           S },       /* cast */
	{ 0xbfff0000, 0x0c000000, STORE,   LISTS,     BASE, LIST,            0 },       /* st1..4: whole vectors */
	{ 0xbfff0000, 0x0c400000, LOAD,    LISTS,     BASE, 0,               LIST },
	{ 0xbfe00000, 0x0c800000, STORE,   LISTS,     POST, LIST,            0 },
	{ 0xbfe00000, 0x0cc00000, LOAD,    LISTS,     POST, 0,               LIST },
	{ 0xbfdf0000, 0x0d000000, STORE,   LISTS,     BASE, LIST,            0 },       /* st1..4: one element each */
	{ 0xbfdf0000, 0x0d400000, LOAD,    LISTS,     BASE, LIST,            LIST },
	{ 0xbfc00000, 0x0d800000, STORE,   LISTS,     POST, LIST,            0 },
	{ 0xbfc00000, 0x0dc00000, LOAD,    LISTS,     POST, LIST,            LIST },
	{ 0xbffffc00, 0x0d018400, STORE,   8,         BASE, TV,              0 },       /* stl1 */
	{ 0xbffffc00, 0x0d418400, LOAD,    8,         BASE, TV,              TV },      /* ldap1 */
};

/* 011: literals; RCpc, tags, copies, atomics of 128 bits */
static const struct memory_row rows_3[] = {
	{ 0xff000000, 0x18000000, LOAD,  4,         LITERAL,   0,               T },      /* ldr w */
	{ 0xff000000, 0x58000000, LOAD,  8,         LITERAL,   0,               T },      /* ldr x */
	{ 0xff000000, 0x98000000, LOAD,  4,         LITERAL,   0,               T },      /* ldrsw */
	{ 0xff000000, 0xd8000000, 0,     0,         LITERAL,   0,               0 },      /* prfm */
	{ 0xff000000, 0x1c000000, LOAD,  4,         LITERAL,   0,               TV },     /* ldr s, d, q */
	{ 0xff000000, 0x5c000000, LOAD,  8,         LITERAL,   0,               TV },
	{ 0xff000000, 0x9c000000, LOAD,  16,        LITERAL,   0,               TV },
	{ 0x3f200c00, 0x19000000, 0,     PLAIN,     IMM9,      T,               0 },      /* stlur, ldapur, ldapurs */
	{ 0x3f200c00, 0x1d000800, 0,     PLAIN,     IMM9,      T,               0 },      /* stlur, ldapur of vectors */
	{ 0xfb200c00, 0x19000400, BOTH,  0,         COPY,      T | S,           T | S },  /* cpy...; set... */
	{ 0xffff0c00, 0x1ddf0000, STORE, 0,         COPY,      T,               T },      /* setgo... */
	{ 0xbfe0fc00, 0x99000800, STORE, SIZE_PAIR, PRE_WIDTH, T | S,           0 },      /* stilp */
	{ 0xbfe0fc00, 0x99001800, STORE, SIZE_PAIR, BASE,      T | S,           0 },
	{ 0xbfe0fc00, 0x99400800, LOAD,  SIZE_PAIR, POST9,     0,               T | S },  /* ldiapp */
	{ 0xbfe0fc00, 0x99401800, LOAD,  SIZE_PAIR, BASE,      0,               T | S },
	{ 0xbffffc00, 0x99800800, STORE, SIZE,      PRE_WIDTH, T,               0 },      /* stlr */
	{ 0xbffffc00, 0x99c00800, LOAD,  SIZE,      POST9,     0,               T },      /* ldapr */
	{ 0xffe0fc00, 0xd9005800, STORE, 16,        BASE,      T | S,           0 },      /* stlp */
	{ 0xffe0dc00, 0xd9405800, LOAD,  16,        BASE,      0,               T | S },  /* ldap, ldapp */
	{ 0xffffec00, 0xd91f0c00, STORE, 8,         BASE,      T,               0 },      /* gcsstr, gcssttr */
	{ 0xfffffc00, 0xd9200000, STORE, 0,         BASE,      T,               0 },      /* stzgm */
	{ 0xfffffc00, 0xd9a00000, STORE, 0,         BASE,      T,               0 },      /* stgm */
	{ 0xfffffc00, 0xd9e00000, LOAD,  0,         BASE,      0,               T },      /* ldgm */
	{ 0xffe00c00, 0xd9600000, LOAD,  16,        TAG9,      T,               T },      /* ldg */
	{ 0xffa00400, 0xd9200400, STORE, 16,        TAG9,      T,               0 },      /* stg, stzg: after, before */
	{ 0xffa00c00, 0xd9200800, STORE, 16,        TAG9,      T,               0 },
	{ 0xffa00400, 0xd9a00400, STORE, 32,        TAG9,      T,               0 },      /* st2g, stz2g */
	{ 0xffa00c00, 0xd9a00800, STORE, 32,        TAG9,      T,               0 },
	{ 0xff20fc00, 0x19201000, RMW,   16,        BASE,      T | S | REAL,    T | S },  /* ldclrp */
	{ 0xff20fc00, 0x19203000, RMW,   16,        BASE,      T | S | REAL,    T | S },  /* ldsetp */
	{ 0xff20fc00, 0x19208000, RMW,   16,        BASE,      T | S | REAL,    T | S },  /* swpp */
	{ 0xbf20fc00, 0x19209000, RMW,   16,        BASE,      T | S | REAL,    T | S },  /* rcwclrp, rcwsclrp */
	{ 0xbf20fc00, 0x1920a000, RMW,   16,        BASE,      T | S | REAL,    T | S },  /* rcwswpp, rcwsswpp */
	{ 0xbf20fc00, 0x1920b000, RMW,   16,        BASE,      T | S | REAL,    T | S },  /* rcwsetp, rcwssetp */
	{ 0xbf20fc00, 0x19200800, RMW,   8,         BASE,      T | S,           S },      /* rcwcas, rcwscas */
	{ 0xbf21fc01, 0x19200c00, RMW,   16,        BASE,      T_PAIR | S_PAIR, S_PAIR }, /* rcwcasp, rcwscasp */
	{ 0xbf20fc00, 0x19200400, RMW,   WORD,      BASE,      S,               T },      /* ldtadd */
	{ 0xbf20fc00, 0x19201400, RMW,   WORD,      BASE,      S,               T },      /* ldtclr */
	{ 0xbf20fc00, 0x19203400, RMW,   WORD,      BASE,      S,               T },      /* ldtset */
	{ 0xbf20fc00, 0x19208400, RMW,   WORD,      BASE,      S,               T },      /* swpt */
};

/* 101: pairs */
static const struct memory_row rows_5[] = {
	{ 0xfe400000, 0x28000000, STORE, 8,  PAIR7, T | T2,          0 },               /* stp w */
	{ 0xfe400000, 0x28400000, LOAD,  8,  PAIR7, 0,               T | T2 },
	{ 0xff400000, 0x69000000, STORE, 16, TAG7,  T | T2,          0 },               /* stgp */
	{ 0xff400000, 0x69400000, LOAD,  8,  PAIR7, 0,               T | T2 },          /* ldpsw */
	{ 0xffc00000, 0x68800000, STORE, 16, TAG7,  T | T2,          0 },
	{ 0xffc00000, 0x68c00000, LOAD,  8,  PAIR7, 0,               T | T2 },
	{ 0xbe400000, 0xa8000000, STORE, 16, PAIR7, T | T2,          0 },               /* stp x, sttp */
	{ 0xbe400000, 0xa8400000, LOAD,  16, PAIR7, 0,               T | T2 },
	{ 0xfe400000, 0x2c000000, STORE, 8,  PAIR7, T | T2 | VECTOR, 0 },               /* stp s, d, q */
	{ 0xfe400000, 0x2c400000, LOAD,  8,  PAIR7, 0,               T | T2 | VECTOR },
	{ 0xfe400000, 0x6c000000, STORE, 16, PAIR7, T | T2 | VECTOR, 0 },
	{ 0xfe400000, 0x6c400000, LOAD,  16, PAIR7, 0,               T | T2 | VECTOR },
	{ 0xbe400000, 0xac000000, STORE, 32, PAIR7, T | T2 | VECTOR, 0 },
	{ 0xbe400000, 0xac400000, LOAD,  32, PAIR7, 0,               T | T2 | VECTOR },
};

/* 111: one register; atomics */
static const struct memory_row rows_7[] = {
	{ 0x3b000000, 0x39000000, 0,     PLAIN_OR_PREFETCH, IMM12, T,         0 },         /* str, ldr, prfm */
	{ 0x3b200c00, 0x38000000, 0,     PLAIN_OR_PREFETCH, IMM9,  T,         0 },         /* stur, ldur, prfum */
	{ 0x3b200c00, 0x38000400, 0,     PLAIN,             POST9, T,         0 },
	{ 0x3b200c00, 0x38000c00, 0,     PLAIN,             PRE9,  T,         0 },
	{ 0x3f200c00, 0x38000800, 0,     PLAIN,             IMM9,  T,         0 },         /* sttr, ldtr */
	{ 0x3b204c00, 0x38204800, 0,     PLAIN_OR_PREFETCH, INDEX, T,         0 },
	{ 0xff200400, 0xf8200400, LOAD,  8,                 KEY,   0,         T },         /* ldraa, ldrab */
	{ 0x3f208c00, 0x38200000, RMW,   SIZE,              BASE,  S,         T },         /* ldadd ... ldumin */
	{ 0x3f20fc00, 0x38208000, RMW,   SIZE,              BASE,  S,         T },         /* swp */
	{ 0x3ffffc00, 0x38bfc000, LOAD,  SIZE,              BASE,  0,         T },         /* ldapr */
	{ 0xbf20fc00, 0x38209000, RMW,   8,                 BASE,  S,         T },         /* rcwclr, rcwsclr */
	{ 0xbf20fc00, 0x3820a000, RMW,   8,                 BASE,  S,         T },         /* rcwswp, rcwsswp */
	{ 0xbf20fc00, 0x3820b000, RMW,   8,                 BASE,  S,         T },         /* rcwset, rcwsset */
	{ 0xfffffc00, 0xf83fd000, LOAD,  64,                BASE,  0,         EIGHT },     /* ld64b */
	{ 0xfffffc00, 0xf83f9000, STORE, 64,                BASE,  EIGHT,     0 },         /* st64b */
	{ 0xffe0ec00, 0xf820a000, STORE, 64,                BASE,  EIGHT,     S },         /* st64bv, st64bv0 */
	{ 0x3f20fc00, 0x3c200000, RMW,   FLOAT,             BASE,  S | VECTOR, TV },       /* ldfadd, ldbfadd */
	{ 0x3f20cc00, 0x3c204000, RMW,   FLOAT,             BASE,  S | VECTOR, TV },       /* ldfmax ... ldfminnm */
	{ 0x3fa0fc1f, 0x3c20801f, RMW,   FLOAT,             BASE,  S | VECTOR, 0 },        /* stfadd, stbfadd */
	{ 0x3fa0cc1f, 0x3c20c01f, RMW,   FLOAT,             BASE,  S | VECTOR, 0 },        /* stfmax ... stfminnm */
};

/* PLAIN: by V, size (bits 31..30), opc (bits 23..22); no width: there is none. A prefetch neither loads nor stores. */
enum { PREFETCH = 0x80 };
static const struct { uint8_t flags, width; } plain[2][4][4] = {
	{
		{ { STORE, 1 }, { LOAD, 1 }, { LOAD, 1 }, { LOAD, 1 } },
		{ { STORE, 2 }, { LOAD, 2 }, { LOAD, 2 }, { LOAD, 2 } },
		{ { STORE, 4 }, { LOAD, 4 }, { LOAD, 4 } },
		{ { STORE, 8 }, { LOAD, 8 }, { 0, PREFETCH } },
	},
	{
		{ { STORE, 1 }, { LOAD, 1 }, { STORE, 16 }, { LOAD, 16 } },
		{ { STORE, 2 }, { LOAD, 2 } },
		{ { STORE, 4 }, { LOAD, 4 } },
		{ { STORE, 8 }, { LOAD, 8 } },
	},
};
/* clang-format on */
