/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A scanner over the walk of bitstream.c: it reads bits and looks at records, and keeps nothing.
 */

#define _GNU_SOURCE
#include "module/bitcode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "module/bits.h"
#include "module/bitstream.h"

#define MAGIC_BYTES 4u
#define SYMTAB_BLOCK 25u
#define STRTAB_BLOCK 23u
#define IDENTIFICATION_BLOCK 13u
#define IDENTIFICATION_STRING 1u
#define MODULE_BLOCK 8u
#define MODULE_TRIPLE 2u
#define MODULE_SOURCE_FILENAME 16u
#define ATTRIBUTE_GROUP_BLOCK 10u
#define METADATA_BLOCK 15u
#define METADATA_COMPILE_UNIT 20u
#define FUNCTION_BLOCK 12u

/* Records of a function that end a block, and those that say what a variable is (llvm/Bitcode/LLVMBitCodes.h, LLVM 22). */
enum function_code {
	CODE_INVOKE = 5,
	CODE_RET = 10,
	CODE_BR = 11,
	CODE_SWITCH = 12,
	CODE_UNREACHABLE = 15,
	CODE_INDIRECTBR = 31,
	CODE_RESUME = 39,
	CODE_CLEANUPRET = 48,
	CODE_CATCHRET = 49,
	CODE_CATCHSWITCH = 52,
	CODE_CALLBR = 57,
	CODE_VARIABLE = 61,
	CODE_VARIABLE_ASSIGN = 63,
	CODE_VARIABLE_SIMPLE = 64,
};

/* Features of x86 for which the code generation adds functions of its own (X86IndirectThunks.cpp of LLVM 22). */
static const char *const thunk_features[] = { "+retpoline-indirect-", "+lvi-cfi" };

enum scan_goal { GOAL_FACTS, GOAL_DEBUG_INFO, GOAL_LOOPS, GOAL_THUNKS, GOAL_BLOB };

struct scan {
	struct bitstream_walk walk; /* first: the walk's functions find the scan by it */
	struct bit_reader in;
	struct bitcode_facts facts;
	enum scan_goal goal;
	bool found;
	bool complete;		   /* no later record says more */
	size_t blob_at, blob_size; /* bytes, of the first blob */
	/* of the function so far */
	uint64_t n_blocks;
	bool has_loop, has_variables;
	/* characters of each feature that the text so far ends with */
	size_t feature_at[ARRAY_SIZE(thunk_features)];
};

bool bitcode_is(const void *bytes, size_t size)
{
	return size >= MAGIC_BYTES && memcmp(bytes, "BC\xc0\xde", MAGIC_BYTES) == 0;
}

static struct scan *scan_of(struct bitstream_walk *walk)
{
	return (struct scan *)walk;
}

static char *text_of(struct scan *s, unsigned block, uint64_t code, size_t *retsize)
{
	struct bitcode_facts *f = &s->facts;

	*retsize = sizeof(f->producer);
	if (block == IDENTIFICATION_BLOCK && code == IDENTIFICATION_STRING)
		return f->producer;
	*retsize = sizeof(f->triple);
	if (block == MODULE_BLOCK && code == MODULE_TRIPLE)
		return f->triple;
	*retsize = sizeof(f->source);
	return block == MODULE_BLOCK && code == MODULE_SOURCE_FILENAME ? f->source : NULL;
}

/* A feature's '+' stands nowhere but at its start, so a text that turns out another one starts none but by that. */
static void feature_note(struct scan *s, char c)
{
	for (size_t i = 0; i < ARRAY_SIZE(thunk_features); i++) {
		const char *feature = thunk_features[i];
		size_t *at = &s->feature_at[i];

		*at = c == feature[*at] ? *at + 1 : c == feature[0];
		if (feature[*at])
			continue;
		*at = 0;
		s->found = true;
	}
}

/* Texts are records of one character a value; each is put in its place as it passes. */
static void character_note(struct scan *s, uint64_t v)
{
	const struct bitstream_walk *w = &s->walk;
	size_t size;
	char *text;

	if (!w->depth || w->n_values == 0)
		return;
	if (s->goal == GOAL_THUNKS && w->stack[w->depth - 1].id == ATTRIBUTE_GROUP_BLOCK) {
		feature_note(s, (char)v);
		return;
	}
	text = text_of(s, w->stack[w->depth - 1].id, w->values[0], &size);
	if (text && w->n_values < size)
		text[w->n_values - 1] = (char)v;
}

static char char6(uint64_t v)
{
	return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"[v & 63];
}

static bool value_is_char6(const struct bitstream_walk *w)
{
	const struct bitstream_block *block = &w->stack[w->depth - 1];
	const struct abbreviation *a;

	if (w->abbreviation_id < 4 || !w->in_array)
		return false;
	a = block->abbreviations[w->abbreviation_id - 4];
	return a->operands[a->n_operands - 1].kind == ABBREVIATION_CHAR6;
}

static bool scan_fixed(struct bitstream_walk *w, enum primitive_role role, unsigned width, uint64_t *ret)
{
	struct scan *s = scan_of(w);

	*ret = bits_read(&s->in, width);
	if (role == ROLE_BLOB && s->blob_size++ == 0)
		s->blob_at = (size_t)(s->in.at / 8) - 1;
	if (role == ROLE_VALUE)
		character_note(s, value_is_char6(w) ? (uint64_t)char6(*ret) : *ret);
	return !s->in.bad;
}

static bool scan_vbr(struct bitstream_walk *w, enum primitive_role role, unsigned width, uint64_t *ret)
{
	struct scan *s = scan_of(w);

	*ret = bits_read_vbr(&s->in, width);
	if (role == ROLE_VALUE)
		character_note(s, *ret);
	return !s->in.bad;
}

static bool scan_align(struct bitstream_walk *w)
{
	struct scan *s = scan_of(w);

	bits_align(&s->in);
	return !s->in.bad;
}

static bool scan_block_begin(struct bitstream_walk *w)
{
	bits_read(&scan_of(w)->in, 32);
	return !scan_of(w)->in.bad;
}

static bool scan_block_end(struct bitstream_walk *w)
{
	struct scan *s = scan_of(w);

	if (s->goal != GOAL_LOOPS || w->stack[w->depth - 1].id != FUNCTION_BLOCK)
		return true;
	s->found = s->complete = s->has_loop && s->has_variables;
	s->has_loop = s->has_variables = false;
	s->n_blocks = 0;
	return !s->complete;
}

/* A branch to a block that came before closes a loop; where the targets are not at hand, there may be one. */
static void function_note(struct scan *s)
{
	const struct bitstream_walk *w = &s->walk;

	switch (w->values[0]) {
	case CODE_VARIABLE:
	case CODE_VARIABLE_ASSIGN:
	case CODE_VARIABLE_SIMPLE: s->has_variables = true; return;
	case CODE_BR:
		s->has_loop |=
			w->values[1] <= s->n_blocks || (w->n_values > 2 && w->values[2] <= s->n_blocks);
		break;
	case CODE_INVOKE: s->has_loop |= w->values[3] <= s->n_blocks; break;
	case CODE_SWITCH:
	case CODE_INDIRECTBR:
	case CODE_CALLBR: s->has_loop = true; break;
	case CODE_RET:
	case CODE_UNREACHABLE:
	case CODE_RESUME:
	case CODE_CLEANUPRET:
	case CODE_CATCHRET:
	case CODE_CATCHSWITCH: break;
	default: return;
	}
	s->n_blocks++;
}

static bool scan_record_end(struct bitstream_walk *w)
{
	struct scan *s = scan_of(w);
	unsigned block = w->stack[w->depth - 1].id;

	switch (s->goal) {
	case GOAL_FACTS: s->complete = block == MODULE_BLOCK && w->values[0] == MODULE_SOURCE_FILENAME; break;
	case GOAL_DEBUG_INFO:
		s->found = s->complete = block == METADATA_BLOCK && w->values[0] == METADATA_COMPILE_UNIT;
		break;
	case GOAL_LOOPS:
		if (block == FUNCTION_BLOCK)
			function_note(s);
		break;
	case GOAL_THUNKS: s->complete = s->found; break;
	case GOAL_BLOB: s->complete = s->blob_size > 0; break;
	}
	return !s->complete;
}

static bool scan_more(struct bitstream_walk *w, bool *ret)
{
	struct bit_reader *in = &scan_of(w)->in;

	*ret = in->at / 8 < in->size;
	return true;
}

static const struct bitstream_source scan_source = { .fixed = scan_fixed,
						     .vbr = scan_vbr,
						     .align = scan_align,
						     .block_begin = scan_block_begin,
						     .block_end = scan_block_end,
						     .record_end = scan_record_end,
						     .more = scan_more };

/* One top-level block: where it ends and what it is. Top-level blocks carry their length. */
static int block_measure(const void *bytes, size_t size, size_t at, size_t *retend, uint64_t *retid,
			 struct fault *reterr)
{
	struct bit_reader in = { .bytes = bytes, .size = size, .at = (uint64_t)at * 8 };
	bool enters = bits_read(&in, 2) == 1;
	uint64_t end;

	*retid = bits_read_vbr(&in, 8);
	bits_read_vbr(&in, 4);
	bits_align(&in);
	end = bits_read(&in, 32) * 4 + in.at / 8;
	if (!enters || in.bad || end > size)
		return fault_set(reterr, -EBADMSG, "bitcode damaged at byte %zu", at);
	*retend = end;
	return 0;
}

/* A module ends where the next magic stands, or the bytes do. */
int bitcode_size(const void *bytes, size_t size, size_t *retsize, struct fault *reterr)
{
	const uint8_t *p = bytes;
	size_t at = MAGIC_BYTES;
	uint64_t id;

	if (!bitcode_is(bytes, size))
		return fault_set(reterr, -EBADMSG, "bitcode without its magic");
	while (at < size && !bitcode_is(p + at, size - at)) {
		int r = block_measure(bytes, size, at, &at, &id, reterr);

		if (r < 0)
			return r;
	}
	*retsize = at;
	return 0;
}

static struct scan *scan_new(const void *bytes, size_t size)
{
	struct scan *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->walk.source = &scan_source;
	s->in = (struct bit_reader){ .bytes = bytes, .size = size };
	return s;
}

static int scan_run(struct scan *s, struct fault *reterr)
{
	bool ok = bitcode_is(s->in.bytes, s->in.size) && bitstream_walk(&s->walk);

	bitstream_walk_done(&s->walk);
	if (!ok && !s->complete)
		return fault_set(reterr, -EBADMSG, "bitcode damaged at byte %llu",
				 (unsigned long long)(s->in.at / 8));
	return 0;
}

static int scan_find(enum scan_goal goal, const void *bytes, size_t size, bool *ret, struct fault *reterr)
{
	_clean_(freep) struct scan *s = scan_new(bytes, size);
	int r;

	if (!s)
		return fault_errno(reterr, -ENOMEM, "bitcode");
	s->goal = goal;
	r = scan_run(s, reterr);
	*ret = s->found;
	return r;
}

int bitcode_has_debug_info(const void *bytes, size_t size, bool *ret, struct fault *reterr)
{
	return scan_find(GOAL_DEBUG_INFO, bytes, size, ret, reterr);
}

int bitcode_has_described_loops(const void *bytes, size_t size, bool *ret, struct fault *reterr)
{
	return scan_find(GOAL_LOOPS, bytes, size, ret, reterr);
}

int bitcode_has_thunks(const void *bytes, size_t size, bool *ret, struct fault *reterr)
{
	return scan_find(GOAL_THUNKS, bytes, size, ret, reterr);
}

/*
 * Assembly stands in records without an abbreviation, each character in two groups of six bits, the lower five and the others,
 * from any bit on. Names and constants are written otherwise. So what is looked for is bytes, in one of eight ways.
 */
static bool assembly_has(const char *word, const void *bytes, size_t size)
{
	uint8_t bits[32], shifted[sizeof(bits)];
	size_t n_bits = 0, n;

	memset(bits, 0, sizeof(bits));
	for (const char *c = word; *c; c++) {
		unsigned groups = (*c & 31u) | 32u | (unsigned)(*c >> 5) << 6;

		for (unsigned i = 0; i < 12; i++, n_bits++)
			bits[n_bits / 8] |= (uint8_t)((groups >> i & 1) << n_bits % 8);
	}
	for (unsigned shift = 0; shift < 8; shift++) {
		n = (n_bits - shift) / 8;
		for (size_t i = 0; i < n; i++)
			shifted[i] = (uint8_t)((bits[i] | bits[i + 1] << 8) >> shift);
		if (memmem(bytes, size, shifted, n))
			return true;
	}
	return false;
}

bool bitcode_reads_files(const void *bytes, size_t size)
{
	return assembly_has(".incbin", bytes, size) || assembly_has(".include", bytes, size);
}

int bitcode_facts_read(const void *bytes, size_t size, struct bitcode_facts *ret, struct fault *reterr)
{
	_clean_(freep) struct scan *s = scan_new(bytes, size);
	int r;

	if (!s)
		return fault_errno(reterr, -ENOMEM, "bitcode");
	r = scan_run(s, reterr);
	if (r == 0)
		*ret = s->facts;
	return r;
}

/* ---- the symbol table for linkers ---- */

/* The blob in the first top-level block @id. 0; -ENODATA; -EBADMSG; -ENOMEM */
static int blob_find(const void *bytes, size_t size, uint64_t id, struct reader *ret, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer alone = { 0 };
	_clean_(freep) struct scan *s = NULL;
	const uint8_t *p = bytes;
	size_t at = MAGIC_BYTES, end = at;
	uint64_t found = ~id;
	int r = bitcode_is(bytes, size) ? 0 : fault_set(reterr, -EBADMSG, "bitcode without its magic");

	for (; r == 0 && end < size && found != id; at = found == id ? at : end)
		r = block_measure(bytes, size, at, &end, &found, reterr);
	if (r < 0 || found != id)
		return r < 0 ? r : fault_set(reterr, -ENODATA, "bitcode without a symbol table");
	buffer_bytes(&alone, p, MAGIC_BYTES);
	buffer_bytes(&alone, p + at, end - at);
	s = alone.bad ? NULL : scan_new(alone.data, alone.size);
	if (!s)
		return fault_errno(reterr, -ENOMEM, "bitcode");
	s->goal = GOAL_BLOB;
	r = scan_run(s, reterr);
	if (r == 0)
		*ret = reader_of(p + at - MAGIC_BYTES + s->blob_at, s->blob_size);
	return r;
}

static int name_compare(const void *a, const void *b)
{
	const struct bitcode_name *x = a, *y = b;
	int order = memcmp(x->text, y->text, x->size < y->size ? x->size : y->size);

	return order ? order : (x->size > y->size) - (x->size < y->size);
}

/*
 * irsymtab::storage: of Header the ranges of Comdats and Symbols, of each Comdat its name, of each Symbol its name and flags; ranges are
 * offset and length.
 */
#define HEADER_COMDATS 20u
#define HEADER_SYMBOLS 28u
#define COMDAT_BYTES 12u
#define SYMBOL_BYTES 24u
#define FLAG_UNDEFINED (1u << 3)
#define FLAG_GLOBAL (1u << 10)

enum names { NAMES_SYMBOLS, NAMES_COMDATS };

/* Of a record: whether its name is asked for. */
static bool rest_read(struct reader *table, enum names which)
{
	uint32_t flags;

	if (which == NAMES_COMDATS) {
		reader_bytes(table, COMDAT_BYTES - 8);
		return true;
	}
	reader_bytes(table, SYMBOL_BYTES - 12);
	flags = reader_u32(table);
	return (flags & (FLAG_UNDEFINED | FLAG_GLOBAL)) == FLAG_GLOBAL;
}

static int names_read(struct reader table, const struct reader *strings, enum names which,
		      struct bitcode_symbols *ret)
{
	struct reader header = table;
	uint32_t at, n;

	reader_bytes(&header, which == NAMES_COMDATS ? HEADER_COMDATS : HEADER_SYMBOLS);
	at = reader_u32(&header);
	n = reader_u32(&header);
	reader_bytes(&table, at);
	if (header.bad || table.bad ||
	    n > reader_left(&table) / (which == NAMES_COMDATS ? COMDAT_BYTES : SYMBOL_BYTES))
		return -EBADMSG;
	ret->names = calloc(n ? n : 1, sizeof(*ret->names));
	if (!ret->names)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t text = reader_u32(&table), size = reader_u32(&table);
		struct reader name = *strings;

		reader_bytes(&name, text);
		if (!rest_read(&table, which))
			continue;
		ret->names[ret->n].text = reader_bytes(&name, size);
		ret->names[ret->n].size = size;
		if (name.bad)
			return -EBADMSG;
		ret->n++;
	}
	qsort(ret->names, ret->n, sizeof(*ret->names), name_compare);
	return 0;
}

static int table_read(const void *bytes, size_t size, enum names which, struct bitcode_symbols *ret,
		      struct fault *reterr)
{
	struct reader table, strings;
	int r = blob_find(bytes, size, SYMTAB_BLOCK, &table, reterr);

	*ret = (struct bitcode_symbols){ 0 };
	if (r == 0)
		r = blob_find(bytes, size, STRTAB_BLOCK, &strings, reterr);
	if (r < 0)
		return r;
	r = names_read(table, &strings, which, ret);
	if (r < 0)
		bitcode_symbols_done(ret);
	return r == -ENOMEM ? fault_errno(reterr, r, "bitcode") :
	       r < 0	    ? fault_set(reterr, r, "bitcode damaged: its symbol table") :
			      0;
}

int bitcode_symbols_read(const void *bytes, size_t size, struct bitcode_symbols *ret, struct fault *reterr)
{
	return table_read(bytes, size, NAMES_SYMBOLS, ret, reterr);
}

int bitcode_comdats_read(const void *bytes, size_t size, struct bitcode_symbols *ret, struct fault *reterr)
{
	return table_read(bytes, size, NAMES_COMDATS, ret, reterr);
}

bool bitcode_symbols_have(const struct bitcode_symbols *symbols, const char *name)
{
	struct bitcode_name key = { name, strlen(name) };

	return symbols->n && bsearch(&key, symbols->names, symbols->n, sizeof(key), name_compare);
}

void bitcode_symbols_done(struct bitcode_symbols *symbols)
{
	free(symbols->names);
	*symbols = (struct bitcode_symbols){ 0 };
}
