/* SPDX-License-Identifier: Apache-2.0 */

#include "module/bitcode_function.h"

#include <stdlib.h>
#include <string.h>

#include "module/array.h"
#include "module/coder/value_coder.h"

#define TYPE_NUMENTRY 1u
#define TYPE_VOID 2u
#define TYPE_FLOAT 3u
#define TYPE_DOUBLE 4u
#define TYPE_INTEGER 7u
#define TYPE_HALF 10u
#define TYPE_ARRAY 11u
#define TYPE_VECTOR 12u
#define TYPE_STRUCT_NAME 19u
#define TYPE_FUNCTION 21u
#define MODULE_ALIAS_OLD 9u
#define MODULE_ALIAS 14u
#define MODULE_IFUNC 15u
#define CALL_HAS_FLAGS 17u /* bit of the calling convention: fast-math flags follow */
#define MAX_INSTRUCTIONS (1u << 20)
#define NEAR 24u
#define NEAR_USES 256u

/* By code of the record: places of operands, bit 0 for the code itself. */
static const uint16_t operand_places[64] = {
	[2] = 0x6,  [3] = 0x2,	[6] = 0x6,  [7] = 0xe,	[8] = 0xe,  [9] = 0x6,	[10] = 0x2, [11] = 0x8,
	[12] = 0x4, [20] = 0x2, [26] = 0x2, [27] = 0x6, [28] = 0x6, [29] = 0xe, [41] = 0x2, [43] = 0xfff8,
	[44] = 0x6, [45] = 0x6, [46] = 0xe, [56] = 0x2, [58] = 0x2, [59] = 0x6,
};
/* Control does not go on behind these. */
static const uint64_t terminators = 1ull << 5 | 1ull << 10 | 1ull << 11 | 1ull << 12 | 1ull << 15 |
				    1ull << 31 | 1ull << 39 | 1ull << 48 | 1ull << 49 | 1ull << 52 |
				    1ull << 57;
/* Records of function blocks that are no instruction: number of blocks, debug locations, bundles, users. */
static const uint64_t no_instructions =
	1ull << 1 | 1ull << 33 | 1ull << 35 | 1ull << 55 | 1ull << 60 | 1ull << 61 | 1ull << 62 | 1ull << 63;
/* Instructions without a result. */
static const uint64_t no_results = 1ull << 10 | 1ull << 11 | 1ull << 12 | 1ull << 15 | 1ull << 24 |
				   1ull << 31 | 1ull << 36 | 1ull << 39 | 1ull << 42 | 1ull << 44 |
				   1ull << 45 | 1ull << 48 | 1ull << 49;

static bool is_one_of(uint64_t code, uint64_t codes)
{
	return code < 64 && codes >> code & 1;
}

void function_state_done(struct function_state *f)
{
	free(f->types);
	free(f->bodies);
	free(f->instructions);
}

void function_module_begin(struct function_state *f)
{
	f->n_globals = 0;
	f->void_type = UINT64_MAX;
	f->n_types = f->n_bodies = f->body = f->n_instructions = 0;
	f->next = f->block = f->n_named = f->type = 0;
	if (f->has_integers) {
		memset(f->integers, 0, sizeof(f->integers));
		memset(f->integer_by_id, 0, sizeof(f->integer_by_id));
		f->has_integers = false;
	}
}

void function_enter(struct function_state *f, unsigned block, unsigned parent)
{
	uint32_t type;

	if (block != BLOCK_FUNCTION || parent != BLOCK_MODULE)
		return;
	type = f->body < f->n_bodies ? f->bodies[f->body++] : UINT32_MAX;
	f->next = f->n_globals + (type < f->n_types ? f->types[type].n_parameters : 0);
	f->block = f->n_named = 0;
	f->n_instructions = 0;
	if (!f->has_values)
		return;
	memset(f->codes, 0, sizeof(f->codes));
	memset(f->n_uses, 0, sizeof(f->n_uses));
	memset(f->details, 0, sizeof(f->details));
	memset(f->n_block_uses, 0, sizeof(f->n_block_uses));
	f->has_values = false;
}

/* Types are numbered in the order of their records. */
static bool type_record(struct function_state *f, const struct bitstream_walk *w)
{
	uint64_t code = w->values[0], one = w->values[1], two = w->values[2];
	struct type_fact *t;

	if (code == TYPE_NUMENTRY || code == TYPE_STRUCT_NAME)
		return true;
	if (!array_reserve(f->types, f->n_types, &f->types_capacity))
		return false;
	t = &f->types[f->n_types];
	*t = (struct type_fact){ 0 };
	if (code == TYPE_VOID)
		f->void_type = f->n_types;
	if (code == TYPE_FUNCTION) {
		t->returns_void = two == f->void_type;
		t->n_parameters = (uint8_t)(w->n_values < 3	  ? 0 :
					    w->n_values - 3 < 255 ? w->n_values - 3 :
								    255);
	}
	if (code == TYPE_INTEGER)
		t->bytes = one == 8 ? 1 : one == 16 ? 2 : one == 32 ? 4 : one == 64 ? 8 : 0;
	if (code == TYPE_HALF || code == TYPE_FLOAT || code == TYPE_DOUBLE)
		t->bytes = code == TYPE_HALF ? 2 : code == TYPE_FLOAT ? 4 : 8;
	if ((code == TYPE_ARRAY || code == TYPE_VECTOR) && two < f->n_types)
		t->bytes = f->types[two].bytes;
	f->n_types++;
	return true;
}

static bool module_record(struct function_state *f, const struct bitstream_walk *w)
{
	uint64_t code = w->values[0];

	if (code == MODULE_GLOBAL || code == MODULE_FUNCTION || code == MODULE_ALIAS_OLD ||
	    code == MODULE_ALIAS || code == MODULE_IFUNC)
		f->n_globals++;
	if (code != MODULE_FUNCTION || w->values[5]) /* only declared */
		return true;
	if (!array_reserve(f->bodies, f->n_bodies, &f->bodies_capacity))
		return false;
	f->bodies[f->n_bodies++] = w->values[3] < UINT32_MAX ? (uint32_t)w->values[3] : UINT32_MAX;
	return true;
}

unsigned call_type_place(const struct bitstream_walk *w)
{
	return w->values[0] == INST_INVOKE ? 5 : w->values[2] >> CALL_HAS_FLAGS & 1 ? 4 : 3;
}

bool operand_at(uint64_t code, unsigned place)
{
	return code < 64 && place < 16 && operand_places[code] >> place & 1;
}

bool operand_is_here(const struct bitstream_walk *w)
{
	uint64_t code = w->values[0], place = w->n_values;

	if (!place || code >= 64)
		return false;
	if (code == INST_CALL || code == INST_INVOKE)
		return place > call_type_place(w);
	return place < 16 ? operand_places[code] >> place & 1 : code == INST_GEP;
}

static bool is_block(uint64_t code, uint64_t place)
{
	return (code == INST_BR && (place == 1 || place == 2)) ||
	       (code == INST_SWITCH && (place == 3 || (place > 3 && place % 2))) ||
	       (code == INST_INVOKE && (place == 3 || place == 4)) ||
	       (code == INST_PHI && place >= 3 && place % 2);
}

bool block_is_here(const struct bitstream_walk *w)
{
	return is_block(w->values[0], w->n_values);
}

static bool instruction_defines(const struct function_state *f, const struct bitstream_walk *w)
{
	uint64_t code = w->values[0], type;

	if (code == INST_CALL || code == INST_INVOKE) {
		type = w->values[call_type_place(w)];
		return type >= f->n_types || !f->types[type].returns_void;
	}
	return !is_one_of(code, no_results);
}

static void operands_use(struct function_state *f, const struct bitstream_walk *w)
{
	uint64_t n = w->n_values < BITSTREAM_RECORD_KEPT ? w->n_values : BITSTREAM_RECORD_KEPT,
		 code = w->values[0];
	unsigned from = code == INST_CALL || code == INST_INVOKE ? call_type_place(w) + 1 : 1;

	for (uint64_t i = from; i < n; i++) {
		uint64_t back = w->values[i];

		if (code == INST_PHI)
			back = i >= 2 && i % 2 == 0 && !(back & 1) ? back >> 1 : 0;
		else if (from == 1 && !(operand_places[code & 63] >> i & 1))
			back = 0;
		if (back && back <= f->next)
			f->n_uses[(f->next - back) % VALUES_KEPT]++;
	}
}

uint32_t value_detail(const struct function_state *f, uint64_t id)
{
	const struct integer *i;

	if (id < f->n_globals)
		return hash2(1, id);
	i = integer_of_value(f, id);
	return i ? hash2(hash2(2, i->field), i->type) : f->details[id % VALUES_KEPT];
}

/* What an instruction does, but for which values it does it to; of addresses: which field. */
static uint32_t detail_make(const struct function_state *f, const struct bitstream_walk *w)
{
	uint64_t code = w->values[0],
		 n = w->n_values < BITSTREAM_RECORD_KEPT ? w->n_values : BITSTREAM_RECORD_KEPT;
	uint32_t h = hash2(3, code);

	switch (code) {
	case INST_GEP:
		h = hash2(h, w->values[2]);
		for (uint64_t i = 4; i < n; i++) {
			const struct integer *index = integer_of_value(f, f->next - w->values[i]);

			h = hash2(h, index ? index->field : ~0ull);
		}
		return h;
	case INST_LOAD: return hash2(hash2(h, w->values[2]), value_detail(f, f->next - w->values[1]));
	case INST_STORE: return hash2(h, value_detail(f, f->next - w->values[1]));
	case INST_CALL:
	case INST_INVOKE:
		return hash2(h, f->next - w->values[(call_type_place(w) + 1) % BITSTREAM_RECORD_KEPT]);
	case INST_CAST: return hash2(hash2(h, w->values[2]), w->values[3]);
	case INST_PHI: return hash2(h, w->values[1]);
	case INST_BINARY:
	case INST_COMPARE: return hash2(hash2(h, w->values[3]), value_detail(f, f->next - w->values[2]));
	default: return h;
	}
}

static bool instruction_record(struct function_state *f, const struct bitstream_walk *w)
{
	uint64_t code = w->values[0];
	uint32_t detail;

	if (code > 63 || is_one_of(code, no_instructions))
		return true;
	f->has_values = true;
	detail = detail_make(f, w);
	if (f->n_instructions < MAX_INSTRUCTIONS) {
		if (!array_reserve(f->instructions, f->n_instructions, &f->instructions_capacity))
			return false;
		f->instructions[f->n_instructions++] = (uint32_t)code | detail << 6;
	}
	operands_use(f, w);
	for (unsigned i = 1; code != INST_PHI && i < BITSTREAM_RECORD_KEPT && i < w->n_values; i++)
		if (is_block(code, i)) {
			f->n_named = w->values[i] > f->n_named ? w->values[i] : f->n_named;
			f->n_block_uses[w->values[i] % VALUES_KEPT]++;
		}
	if (is_one_of(code, terminators))
		f->block++;
	if (instruction_defines(f, w)) {
		f->codes[f->next % VALUES_KEPT] = (uint8_t)code;
		f->details[f->next % VALUES_KEPT] = detail;
		f->n_uses[f->next % VALUES_KEPT] = 0;
		f->next++;
	}
	return true;
}

static unsigned integer_slot(uint64_t field, uint64_t type)
{
	return (unsigned)((field * 0x9e3779b97f4a7c15u ^ type * 0xc2b2ae3d27d4eb4fu) >> 40) % INTEGERS_KEPT;
}

const struct integer *integer_find(const struct function_state *f, uint64_t field, uint64_t type)
{
	const struct integer *i = &f->integers[integer_slot(field, type)];

	return i->id && i->field == field && i->type == type && i->id < f->next ? i : NULL;
}

bool integer_is_known(const struct function_state *f, uint64_t field)
{
	const struct integer *i = integer_find(f, field, f->type);

	return i && i->id >= f->n_globals;
}

const struct integer *integer_of_value(const struct function_state *f, uint64_t id)
{
	const struct integer *i = &f->integer_by_id[id % INTEGERS_KEPT];

	return id && i->id == id ? i : NULL;
}

/* @next: the number that it gets */
static void constant_record(struct function_state *f, const struct bitstream_walk *w, uint64_t *next)
{
	if (w->values[0] == CONSTANT_SETTYPE) {
		f->type = w->values[1];
		return;
	}
	if (w->values[0] == CONSTANT_INTEGER) {
		struct integer i = { w->values[1], f->type, *next };

		f->has_integers = true;
		f->integers[integer_slot(i.field, i.type)] = i;
		f->integer_by_id[*next % INTEGERS_KEPT] = i;
	}
	++*next;
}

bool function_record(struct function_state *f, const struct bitstream_walk *w, unsigned block,
		     unsigned parent)
{
	if (block == BLOCK_TYPES)
		return type_record(f, w);
	if (block == BLOCK_MODULE)
		return module_record(f, w);
	if (block == BLOCK_FUNCTION)
		return instruction_record(f, w);
	if (block == BLOCK_CONSTANTS)
		constant_record(f, w, parent == BLOCK_FUNCTION ? &f->next : &f->n_globals);
	return true;
}

uint64_t value_unused(const struct function_state *f, uint64_t from)
{
	for (uint64_t back = from + 1; back <= NEAR && back <= f->next; back++)
		if (f->codes[(f->next - back) % VALUES_KEPT] && !f->n_uses[(f->next - back) % VALUES_KEPT])
			return back;
	return 0;
}

uint64_t value_with_uses(const struct function_state *f, uint64_t id, uint64_t n, bool is_block)
{
	const uint16_t *uses = is_block ? f->n_block_uses : f->n_uses;

	for (unsigned i = 0; i < NEAR_USES && id > 0; i++)
		if (uses[--id % VALUES_KEPT] == n)
			return id;
	return 0;
}

uint64_t instruction_with(const struct function_state *f, uint64_t from, uint64_t codes)
{
	for (; from < f->n_instructions; from++)
		if (is_one_of(f->instructions[from] & 63, codes))
			return from;
	return from;
}
