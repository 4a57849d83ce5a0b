/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Packed: one byte, STORED or MODELLED, then the bytes. MODELLED is one stream for all modules, so that
 * each profits from what was learnt in those before, and the first from the example. Lengths of blocks are
 * not coded: the walk knows where a block ends.
 */

#include "module/bitcode_pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "module/bitcode.h"
#include "module/bitcode_model.h"
#include "module/bits.h"
#include "module/bitstream.h"
#include "module/coder/value_coder.h"

enum packing { PACKING_STORED = 0, PACKING_MODELLED = 1 };

#define MAX_RATIO 4096u /* of any packing that is ours */

struct packer {
	struct bitstream_walk walk; /* first: the walk's functions find the packer by it */
	struct value_coder *coder;
	bool unpacks;
	struct bit_reader in; /* packing */
	uint8_t *out;	      /* the module's bytes, zero at first; packing: to compare */
	size_t out_size;
	uint64_t out_at;			    /* bits */
	uint64_t block_starts[BITSTREAM_MAX_DEPTH]; /* bit where the words of an open block begin */
	struct bitcode_model *model;
};

static struct packer *packer_of(struct bitstream_walk *walk)
{
	return (struct packer *)walk;
}

/* @fixed: the field has exactly @width bits */
static bool value_code(struct packer *p, enum primitive_role role, unsigned width, bool fixed, uint64_t *v)
{
	struct field field = { .role = role, .width = width, .is_fixed = fixed };
	struct value_facts facts;
	uint64_t code;

	bitcode_model_facts(p->model, &p->walk, &field, &facts);
	code = p->unpacks ? 0 : field_code(&field, *v);
	return value_coder_run(p->coder, &facts, &code) && field_value(&field, code, v) &&
	       bitcode_model_note(p->model, &p->walk, &field, *v);
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
	bitcode_model_enter(p->model, w);
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

static bool pack_record_end(struct bitstream_walk *w)
{
	return bitcode_model_record(packer_of(w)->model, w);
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
	bitcode_model_begin(p->model);
	p->out = out;
	p->out_size = size;
	p->out_at = 0;
	ok = bitstream_walk(&p->walk) && p->out_at == (uint64_t)size * 8;
	bitstream_walk_done(&p->walk);
	return ok;
}

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

/* The example's modules are walked as if they were packed, but take no bytes. */
static int example_learn(struct packer *p, const struct buffer *example)
{
	size_t size;

	value_coder_train(p->coder, true);
	p->unpacks = false;
	for (size_t at = 0; at < example->size; at += size) {
		struct bitcode_span module = { .bytes = example->data + at };

		if (bitcode_size(module.bytes, example->size - at, &size, NULL) < 0)
			return -EBADMSG;
		module.size = size;
		if (!module_model(p, &module))
			return -ENOMEM;
	}
	value_coder_train(p->coder, false);
	return 0;
}

static void packer_free(struct packer *p)
{
	if (!p)
		return;
	value_coder_free(p->coder);
	bitcode_model_free(p->model);
	free(p);
}
DEFINE_CLEANUP(struct packer *, packer_free);

/* @in: to unpack, NULL: to pack */
static struct packer *packer_new(const void *in, size_t size, const struct bitcode_prior *prior,
				 size_t volume)
{
	_clean_(packer_freep) struct packer *p = calloc(1, sizeof(*p));

	if (prior && prior->example)
		volume += prior->example->size;
	if (!p)
		return NULL;
	p->coder = value_coder_new(in, size, volume);
	p->model = bitcode_model_new(volume / 8 + (prior ? prior->bytes.size : 0), volume);
	if (!p->coder || !p->model)
		return NULL;
	if (prior && prior->example && example_learn(p, prior->example) < 0)
		return NULL;
	if (!bitcode_model_know(p->model, prior))
		return NULL;
	p->unpacks = in != NULL;
	return TAKE(p);
}

/* 0; 1: some module is no bitstream that would come back as it is; -ENOMEM */
static int modules_model(const struct bitcode_span *modules, size_t n, const struct bitcode_prior *prior,
			 struct buffer *ret)
{
	_clean_(packer_freep) struct packer *p = packer_new(NULL, 0, prior, volume_of(modules, n));

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!module_model(p, &modules[i]))
			return 1;
	return value_coder_end(p->coder, ret);
}

static int modules_restore(const void *bytes, size_t size, const struct bitcode_prior *prior,
			   const size_t *sizes, size_t n, size_t volume, uint8_t *ret)
{
	_clean_(packer_freep) struct packer *p = packer_new(bytes, size, prior, volume);
	size_t at = 0;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!module_walk(p, ret + at, sizes[i]))
			return -EBADMSG;
		at += sizes[i];
	}
	return 0;
}

int bitcode_pack(const struct bitcode_span *modules, size_t n, const struct bitcode_prior *prior,
		 struct buffer *ret)
{
	_clean_(buffer_donep) struct buffer packed = { 0 };
	int r;

	buffer_u8(&packed, PACKING_MODELLED);
	r = modules_model(modules, n, prior, &packed);
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

int bitcode_unpack(const void *bytes, size_t size, const struct bitcode_prior *prior, const size_t *sizes,
		   size_t n, struct buffer *ret, struct fault *reterr)
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
		r = modules_restore(p + 1, size - 1, prior, sizes, n, volume, out.data);
	if (r < 0)
		return r == -ENOMEM ? fault_errno(reterr, r, "IR") :
				      fault_set(reterr, r, "IR damaged: it does not unpack");
	*ret = out;
	out = (struct buffer){ 0 };
	return 0;
}
