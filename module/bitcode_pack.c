/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Packed: one byte, STORED or MODELLED, then the bytes. MODELLED is one stream for all modules, so that
 * each profits from what was learnt in those before. Lengths of blocks are not coded: the walk knows
 * where a block ends.
 */

#include "module/bitcode_pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "module/array.h"
#include "module/bits.h"
#include "module/bitstream.h"
#include "module/value_coder.h"

enum packing { PACKING_STORED = 0, PACKING_MODELLED = 1 };

#define BLOCK_CONSTANTS 11u
#define BLOCK_FUNCTION 12u
#define BLOCK_METADATA 15u
#define BLOCK_TYPES 17u
#define TYPE_NUMENTRY 1u
#define TYPE_VOID 2u
#define TYPE_STRUCT_NAME 19u
#define TYPE_FUNCTION 21u
#define FUNCTION_CALL 34u
#define CALL_TYPE_PLACE 3u /* of the function's type, in a call without fast-math flags */
#define CALL_TYPES 256u
#define CODES 64u	/* of records that are told apart */
#define MAX_RATIO 4096u /* of any packing that is ours */

struct history {
	uint64_t values[BITSTREAM_RECORD_KEPT]; /* of the latest record of this code */
	uint64_t n_values;
	uint64_t length; /* of its array */
	uint64_t number; /* of the next value when it stood, see struct numbering */
};

/*
 * Operands of instructions count backwards from the number of the next value: one operand has another
 * form in every instruction. Counting along gives a good guess at the form that it has now. What counts
 * as a value is known from the record's code, for calls from the type of the callee (LLVMBitCodes.h).
 */
struct numbering {
	uint64_t next;	/* number of the next value, from the function's first instruction */
	uint8_t *types; /* owned; per type ID: does a function of it return nothing? */
	size_t n_types, capacity;
	uint64_t void_type;		  /* ID of void */
	struct history calls[CALL_TYPES]; /* the latest call of a function type */
};

struct packer {
	struct bitstream_walk walk; /* first: the walk's functions find the packer by it */
	struct value_coder *coder;
	bool unpacks;
	struct bit_reader in; /* packing */
	uint8_t *out;	      /* the module's bytes, zero at first; packing: to compare */
	size_t out_size;
	uint64_t out_at;			    /* bits */
	uint64_t block_starts[BITSTREAM_MAX_DEPTH]; /* bit where the words of an open block begin */
	struct history histories[BITSTREAM_MAX_BLOCK_IDS][CODES];
	struct numbering numbering;
	unsigned codes[3]; /* of the latest records, the newest first */
	uint64_t length;   /* of the current record's array */
	uint64_t third;	   /* the value before the two that the walk keeps */
};

static struct packer *packer_of(struct bitstream_walk *walk)
{
	return (struct packer *)walk;
}

static uint32_t hash2(uint32_t a, uint64_t b)
{
	uint32_t h = (a ^ (uint32_t)b ^ (uint32_t)(b >> 32) * 0x9e3779b1u) * 0x01000193u + 0x811c9dc5u;

	return (h ^ h >> 16) * 0x7feb352du;
}

static unsigned code_of(const struct bitstream_walk *w)
{
	return w->n_values ? (unsigned)w->values[0] % CODES : CODES - 1;
}

static bool is_in(const struct packer *p, unsigned block)
{
	return p->walk.depth && p->walk.stack[p->walk.depth - 1].id == block;
}

/* Contexts of what comes next in a block: the kinds of records before, and what the latest holds. */
static void order_contexts(const struct packer *p, uint32_t base, uint32_t ret[VALUE_CONTEXTS])
{
	const struct bitstream_walk *w = &p->walk;
	uint32_t one = hash2(base, p->codes[0]), two = hash2(one, p->codes[1]);

	ret[0] = hash2(two, p->codes[2]);
	ret[1] = hash2(hash2(one, w->values[1]), 2);
	ret[2] = hash2(hash2(two, w->values[CALL_TYPE_PLACE]), 3);
	ret[3] = hash2(hash2(two, w->values[2]), 6);
}

/* Contexts of a value: its neighbours, the same place in the latest record of its kind, the kinds of records before. */
static void value_contexts(const struct packer *p, uint32_t base, uint64_t before,
			   uint32_t ret[VALUE_CONTEXTS])
{
	const struct bitstream_walk *w = &p->walk;

	ret[0] = hash2(hash2(base, w->last), 1);
	ret[1] = hash2(hash2(base, before), 2);
	ret[2] = hash2(hash2(hash2(7, w->last), w->before_last), p->third);
	ret[3] = hash2(hash2(base, p->codes[0]), p->codes[1]);
}

static void guesses_make(const struct packer *p, const struct history *h, uint64_t before,
			 uint64_t ret[VALUE_GUESSES])
{
	const struct bitstream_walk *w = &p->walk;
	size_t i = w->n_values;

	ret[0] = before;
	ret[1] = w->last + 1;
	ret[2] = i > 1 ? before + w->values[1] - h->values[1] : before + 1;
	if (is_in(p, BLOCK_CONSTANTS)) { /* signed numbers have their sign in bit 0 */
		ret[1] = before + 2;
		ret[2] = before - 2;
	}
	if (!is_in(p, BLOCK_FUNCTION))
		return;
	ret[1] = before + p->numbering.next - h->number;
	if (code_of(w) == FUNCTION_CALL && i > CALL_TYPE_PLACE && i < BITSTREAM_RECORD_KEPT) {
		const struct history *call = &p->numbering.calls[w->values[CALL_TYPE_PLACE] % CALL_TYPES];

		ret[0] = call->values[i] + p->numbering.next - call->number;
		ret[2] = ret[0] - 1;
	}
}

static void facts_make(const struct packer *p, enum primitive_role role, unsigned width,
		       struct value_facts *ret)
{
	const struct bitstream_walk *w = &p->walk;
	unsigned block = w->depth ? w->stack[w->depth - 1].id : BITSTREAM_MAX_BLOCK_IDS - 1;
	unsigned code = code_of(w);
	unsigned place = w->n_values < 24 ? (unsigned)w->n_values : 24 + (unsigned)(w->n_values & 1);
	const struct history *h = &p->histories[block][code];
	uint64_t before = w->n_values < BITSTREAM_RECORD_KEPT ? h->values[w->n_values] : h->n_values;
	uint32_t base = hash2(hash2(role, block), role == ROLE_CODE ? 0 : width);

	memset(ret->guesses, 0, sizeof(ret->guesses));
	if (role == ROLE_ABBREVIATION_ID || role == ROLE_CODE) {
		order_contexts(p, base, ret->contexts);
	} else {
		if (role != ROLE_DEFINITION)
			base = hash2(hash2(hash2(role, block), w->n_values ? code : w->abbreviation_id),
				     place);
		value_contexts(p, base, before, ret->contexts);
		if (role == ROLE_LENGTH)
			ret->guesses[0] = h->length;
		else
			guesses_make(p, h, before, ret->guesses);
	}
	ret->kind = hash2(hash2(hash2(role, block), role == ROLE_VALUE ? code : 0),
			  role == ROLE_VALUE ? place : 0) >>
		    22;
}

/* @fixed: the field has exactly @width bits */
static bool value_code(struct packer *p, enum primitive_role role, unsigned width, bool fixed, uint64_t *v)
{
	struct value_facts facts;
	bool ok;

	facts_make(p, role, width, &facts);
	facts.width = fixed && width <= 8 ? width : 0;
	ok = value_coder_run(p->coder, &facts, v);
	if (role == ROLE_VALUE || role == ROLE_BLOB)
		p->third = p->walk.before_last;
	if (role == ROLE_LENGTH)
		p->length = *v;
	return ok;
}

static bool bits_write(struct packer *p, unsigned width, uint64_t v)
{
	if (width < 64 && v >> width)
		return false;
	if (p->out_at + width > (uint64_t)p->out_size * 8)
		return false;
	for (unsigned left = width; left;) {
		unsigned shift = p->out_at % 8, n = left < 8 - shift ? left : 8 - shift;

		p->out[p->out_at / 8] |= (uint8_t)((v & ((1u << n) - 1)) << shift);
		v >>= n;
		left -= n;
		p->out_at += n;
	}
	return true;
}

static bool vbr_write(struct packer *p, unsigned width, uint64_t v)
{
	uint64_t more = 1ull << (width - 1);

	for (; v >= more; v >>= width - 1)
		if (!bits_write(p, width, (v & (more - 1)) | more))
			return false;
	return bits_write(p, width, v);
}

static bool pack_fixed(struct bitstream_walk *w, enum primitive_role role, unsigned width, uint64_t *ret)
{
	struct packer *p = packer_of(w);

	*ret = p->unpacks ? 0 : bits_read(&p->in, width);
	return !p->in.bad && value_code(p, role, width, true, ret) && bits_write(p, width, *ret);
}

static bool pack_vbr(struct bitstream_walk *w, enum primitive_role role, unsigned width, uint64_t *ret)
{
	struct packer *p = packer_of(w);

	*ret = p->unpacks ? 0 : bits_read_vbr(&p->in, width);
	return !p->in.bad && value_code(p, role, width, false, ret) && vbr_write(p, width, *ret);
}

static bool pack_align(struct bitstream_walk *w)
{
	struct packer *p = packer_of(w);

	if (!p->unpacks)
		bits_align(&p->in);
	p->out_at = (p->out_at + 31) & ~31ull;
	return !p->in.bad && p->out_at <= (uint64_t)p->out_size * 8;
}

static bool pack_block_begin(struct bitstream_walk *w)
{
	struct packer *p = packer_of(w);

	if (!p->unpacks)
		bits_read(&p->in, 32);
	p->block_starts[w->depth - 1] = p->out_at + 32;
	return !p->in.bad && bits_write(p, 32, 0);
}

static bool pack_block_end(struct bitstream_walk *w)
{
	struct packer *p = packer_of(w);
	uint64_t start = p->block_starts[w->depth - 1];
	uint32_t words = (uint32_t)((p->out_at - start) / 32);

	memcpy(p->out + start / 8 - 4, &words, sizeof(words));
	return true;
}

/* Types are numbered in the order of their records. */
static bool type_note(struct numbering *n, const struct bitstream_walk *w)
{
	unsigned code = (unsigned)w->values[0];

	if (code == TYPE_NUMENTRY || code == TYPE_STRUCT_NAME)
		return true;
	if (!array_reserve(n->types, n->n_types, &n->capacity))
		return false;
	if (code == TYPE_VOID)
		n->void_type = n->n_types;
	n->types[n->n_types++] = code == TYPE_FUNCTION && w->values[2] == n->void_type;
	return true;
}

/* Instructions without a result: control flow, stores, fences, debug locations. */
static bool instruction_defines(const struct numbering *n, const struct bitstream_walk *w)
{
	static const uint8_t without[] = { 1,  10, 11, 12, 15, 24, 31, 33, 35, 36, 39, 42,
					   44, 45, 48, 49, 55, 60, 61, 62, 63, 64, 65 };
	uint64_t type = w->values[CALL_TYPE_PLACE];

	if (w->values[0] == FUNCTION_CALL)
		return type >= n->n_types || !n->types[type];
	return memchr(without, (int)(w->values[0] & 255), sizeof(without)) == NULL;
}

static void history_note(struct history *h, const struct packer *p)
{
	memcpy(h->values, p->walk.values, sizeof(h->values));
	h->n_values = p->walk.n_values;
	h->length = p->length;
	h->number = p->numbering.next;
}

static bool pack_record_end(struct bitstream_walk *w)
{
	struct packer *p = packer_of(w);
	struct numbering *n = &p->numbering;

	history_note(&p->histories[w->stack[w->depth - 1].id][code_of(w)], p);
	if (is_in(p, BLOCK_TYPES) && !type_note(n, w))
		return false;
	if (is_in(p, BLOCK_FUNCTION)) {
		if (w->values[0] == FUNCTION_CALL)
			history_note(&n->calls[w->values[CALL_TYPE_PLACE] % CALL_TYPES], p);
		n->next += instruction_defines(n, w);
	}
	p->codes[2] = p->codes[1];
	p->codes[1] = p->codes[0];
	p->codes[0] = (unsigned)w->values[0];
	return true;
}

static bool pack_more(struct bitstream_walk *w, bool *ret)
{
	struct packer *p = packer_of(w);
	uint64_t v = !p->unpacks && p->in.at / 8 < p->in.size;

	if (!value_code(p, ROLE_TOP, 1, true, &v))
		return false;
	*ret = v != 0;
	return true;
}

static const struct bitstream_source pack_source = { .fixed = pack_fixed,
						     .vbr = pack_vbr,
						     .align = pack_align,
						     .block_begin = pack_block_begin,
						     .block_end = pack_block_end,
						     .record_end = pack_record_end,
						     .more = pack_more };

/*
 * One module of @size bytes, written to @out, which is zero; what was learnt stays, what the walk knew of
 * abbreviations goes.
 */
static bool module_walk(struct packer *p, uint8_t *out, size_t size)
{
	bool ok;

	memset(&p->walk, 0, sizeof(p->walk));
	p->walk.source = &pack_source;
	p->codes[0] = p->codes[1] = p->codes[2] = 0;
	p->numbering.n_types = 0;
	p->numbering.void_type = UINT64_MAX;
	p->out = out;
	p->out_size = size;
	p->out_at = 0;
	ok = bitstream_walk(&p->walk) && p->out_at == (uint64_t)size * 8;
	bitstream_walk_done(&p->walk);
	return ok;
}

static void packer_free(struct packer *p)
{
	free(p->numbering.types);
	free(p);
}
DEFINE_CLEANUP(struct packer *, packer_free);

static size_t volume_of(const struct bitcode_span *modules, size_t n)
{
	size_t volume = 0;

	for (size_t i = 0; i < n; i++)
		volume += modules[i].size;
	return volume;
}

/* The values that were coded, written as the reader will write them, must be the same bits. */
static bool module_model(struct packer *p, const struct bitcode_span *module)
{
	_clean_(freep) uint8_t *again = calloc(MAX(module->size, 1u), 1);

	p->in = (struct bit_reader){ .bytes = module->bytes, .size = module->size };
	return again && module_walk(p, again, module->size) &&
	       memcmp(again, module->bytes, module->size) == 0;
}

/* 0; 1: some module is no bitstream that would come back as it is; -ENOMEM */
static int modules_model(const struct bitcode_span *modules, size_t n, struct buffer *ret)
{
	_clean_(packer_freep) struct packer *p = calloc(1, sizeof(*p));
	_clean_(value_coder_freep) struct value_coder *coder =
		value_coder_new(NULL, 0, volume_of(modules, n));

	if (!p || !coder)
		return -ENOMEM;
	p->coder = coder;
	for (size_t i = 0; i < n; i++)
		if (!module_model(p, &modules[i]))
			return 1;
	return value_coder_end(coder, ret);
}

static int modules_restore(const void *bytes, size_t size, const size_t *sizes, size_t n, size_t volume,
			   uint8_t *ret)
{
	_clean_(packer_freep) struct packer *p = calloc(1, sizeof(*p));
	_clean_(value_coder_freep) struct value_coder *coder = value_coder_new(bytes, size, volume);
	size_t at = 0;

	if (!p || !coder)
		return -ENOMEM;
	p->coder = coder;
	p->unpacks = true;
	for (size_t i = 0; i < n; i++) {
		if (!module_walk(p, ret + at, sizes[i]))
			return -EBADMSG;
		at += sizes[i];
	}
	return 0;
}

int bitcode_pack(const struct bitcode_span *modules, size_t n, struct buffer *ret)
{
	_clean_(buffer_donep) struct buffer packed = { 0 };
	int r;

	buffer_u8(&packed, PACKING_MODELLED);
	r = modules_model(modules, n, &packed);
	if (r < 0)
		return r;
	if (r > 0) {
		packed.size = 0;
		buffer_u8(&packed, PACKING_STORED);
		for (size_t i = 0; i < n; i++)
			buffer_bytes(&packed, modules[i].bytes, modules[i].size);
	}
	buffer_bytes(ret, packed.data, packed.size);
	return ret->bad || packed.bad ? -ENOMEM : 0;
}

int bitcode_unpack(const void *bytes, size_t size, const size_t *sizes, size_t n, struct buffer *ret,
		   struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer out = { 0 };
	const uint8_t *p = bytes;
	size_t volume = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		if (__builtin_add_overflow(volume, sizes[i], &volume))
			return fault_set(reterr, -EBADMSG, "IR damaged: impossible sizes");
	if (size == 0 || p[0] > PACKING_MODELLED ||
	    (p[0] == PACKING_STORED ? volume != size - 1 : volume / MAX_RATIO > size))
		return fault_set(reterr, -EBADMSG, "IR damaged: impossible sizes");
	out.data = calloc(volume ? volume : 1, 1);
	if (!out.data)
		return fault_errno(reterr, -ENOMEM, "IR of %zu bytes", volume);
	out.size = out.capacity = volume;
	if (p[0] == PACKING_STORED && volume)
		memcpy(out.data, p + 1, volume);
	else if (p[0] == PACKING_MODELLED)
		r = modules_restore(p + 1, size - 1, sizes, n, volume, out.data);
	if (r < 0)
		return r == -ENOMEM ? fault_errno(reterr, r, "IR") :
				      fault_set(reterr, r, "IR damaged: it does not unpack");
	*ret = out;
	out = (struct buffer){ 0 };
	return 0;
}
