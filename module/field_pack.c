/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Packed: one byte, what is modelled; the sizes of fields and map (ULEB128); if anything is modelled, a text of coded
 * bytes, fields first; then what is not, fields first.
 */

#include "module/field_pack.h"

#include <errno.h>
#include <string.h>
#include <threads.h>

#include "module/coder/example.h"
#include "module/coder/text_model.h"
#include "module/coder/value_coder.h"
#include "module/map_model.h"

#define FIELDS_MODELLED 1u
#define MAP_MODELLED 2u
#define VOLUME (64u << 10) /* of the coder's tables, whatever is coded */

struct field_packer {
	struct value_coder *coder; /* owned */
	struct text_model texts;
	struct map_model *map; /* owned */
};

static void packer_done(struct field_packer *p)
{
	value_coder_free(p->coder);
	text_model_done(&p->texts);
	map_model_free(p->map);
}

/* @out is written to when it is decoded. */
static bool fields_code(struct field_packer *p, const uint8_t *bytes, size_t size, struct buffer *out)
{
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = bytes ? bytes[i] : 0;

		if (!text_model_code(&p->texts, p->coder, 0, &byte))
			return false;
		if (out)
			buffer_u8(out, byte);
	}
	return !out || !out->bad;
}

static bool packer_new(struct field_packer *p, const void *in, size_t size)
{
	p->coder = value_coder_new(in, size, VOLUME);
	p->map = map_model_new();
	return text_model_init(&p->texts, VOLUME) && p->coder && p->map;
}

static bool example_learn(struct field_packer *p)
{
	const struct example *example = example_get();
	const struct build_id none = { 0 };
	bool ok;

	if (!example)
		return false;
	value_coder_train(p->coder, true);
	ok = fields_code(p, example->fields.data, example->fields.size, NULL) &&
	     (!example->map.size || map_model_encode(p->map, p->coder, &p->texts, &none, example->map.data,
						     example->map.size) == 0);
	value_coder_train(p->coder, false);
	return ok;
}

/* Who reads a thousand files learns the example once. */
static struct field_packer trained;
static bool is_trained;
static once_flag example_learnt = ONCE_FLAG_INIT;

static void trained_make(void)
{
	is_trained = packer_new(&trained, NULL, 0) && example_learn(&trained);
	if (!is_trained)
		packer_done(&trained);
}

static bool packer_trained(struct field_packer *p, const void *in, size_t size)
{
	call_once(&example_learnt, trained_make);
	if (!is_trained) /* there was no memory for it then */
		return packer_new(p, in, size) && example_learn(p);
	p->coder = value_coder_copy(trained.coder, in, size);
	p->map = map_model_copy(trained.map);
	return text_model_copy(&trained.texts, &p->texts) && p->coder && p->map;
}

/* @in: to decode, NULL: to encode */
static int packer_init(struct field_packer *p, const void *in, size_t size, bool knows_example)
{
	return (knows_example ? packer_trained(p, in, size) : packer_new(p, in, size)) ? 0 : -ENOMEM;
}

/* 0; 1: the map does not come back; -ENOMEM */
static int modelled_encode(const struct build_id *id, unsigned what, const struct buffer *fields,
			   const struct buffer *map, bool knows_example, struct buffer *ret)
{
	_clean_(packer_done) struct field_packer p = { 0 };
	int r = packer_init(&p, NULL, 0, knows_example);

	if (r < 0)
		return r;
	if (what & FIELDS_MODELLED && !fields_code(&p, fields->data, fields->size, NULL))
		return -ENOMEM;
	if (what & MAP_MODELLED)
		r = map_model_encode(p.map, p.coder, &p.texts, id, map->data, map->size);
	return r != 0 ? r : value_coder_end(p.coder, ret);
}

int field_pack(const struct build_id *id, const struct buffer *fields, const struct buffer *map,
	       bool knows_example, struct buffer *ret)
{
	_clean_(buffer_donep) struct buffer coded = { 0 };
	unsigned what = (fields->size <= FIELD_PACK_MAX_FIELDS ? FIELDS_MODELLED : 0) |
			(map->size <= FIELD_PACK_MAX_MAP ? MAP_MODELLED : 0);
	int r = what ? modelled_encode(id, what, fields, map, knows_example, &coded) : 0;

	if (r > 0) {
		what &= ~MAP_MODELLED;
		coded.size = 0;
		r = what ? modelled_encode(id, what, fields, map, knows_example, &coded) : 0;
	}
	if (r < 0)
		return r;
	buffer_u8(ret, (uint8_t)what);
	buffer_uleb(ret, fields->size);
	buffer_uleb(ret, map->size);
	if (what)
		buffer_string(ret, (const char *)coded.data, coded.size);
	if (!(what & FIELDS_MODELLED))
		buffer_bytes(ret, fields->data, fields->size);
	if (!(what & MAP_MODELLED))
		buffer_bytes(ret, map->data, map->size);
	return ret->bad ? -ENOMEM : 0;
}

static int modelled_decode(const struct build_id *id, unsigned what, struct reader *in, const size_t sizes[2],
			   bool knows_example, struct buffer *retfields, struct buffer *retmap)
{
	_clean_(packer_done) struct field_packer p = { 0 };
	size_t size;
	const char *coded = reader_string(in, &size);
	int r;

	if (!coded)
		return -EBADMSG;
	r = packer_init(&p, coded, size, knows_example);
	if (r < 0)
		return r;
	if (what & FIELDS_MODELLED && !fields_code(&p, NULL, sizes[0], retfields))
		return retfields->bad ? -ENOMEM : -EBADMSG;
	if (what & MAP_MODELLED)
		r = map_model_decode(p.map, p.coder, &p.texts, id, sizes[1], retmap);
	return r < 0 ? r : what & MAP_MODELLED && retmap->size != sizes[1] ? -EBADMSG : 0;
}

static int damaged(struct fault *reterr, const char *what)
{
	return fault_set(reterr, -EBADMSG, "fields damaged: %s", what);
}

static bool stored_read(struct reader *in, size_t size, struct buffer *ret)
{
	const void *bytes = reader_bytes(in, size);

	if (bytes)
		buffer_bytes(ret, bytes, size);
	return bytes != NULL;
}

int field_unpack(const struct build_id *id, struct reader *in, uint64_t max, bool knows_example,
		 struct buffer *retfields, struct buffer *retmap, struct fault *reterr)
{
	unsigned what = reader_u8(in);
	uint64_t n_fields = reader_uleb(in), n_map = reader_uleb(in);
	int r = 0;

	if (in->bad || what > (FIELDS_MODELLED | MAP_MODELLED) || n_fields > max || n_map > max - n_fields ||
	    (what & FIELDS_MODELLED && n_fields > FIELD_PACK_MAX_FIELDS) ||
	    (what & MAP_MODELLED && n_map > FIELD_PACK_MAX_MAP))
		return damaged(reterr, "impossible sizes");
	if (what)
		r = modelled_decode(id, what, in, (size_t[]){ n_fields, n_map }, knows_example, retfields,
				    retmap);
	if (r == -EBADMSG)
		return damaged(reterr, "they do not unpack");
	if (r == 0 && ((!(what & FIELDS_MODELLED) && !stored_read(in, n_fields, retfields)) ||
		       (!(what & MAP_MODELLED) && !stored_read(in, n_map, retmap))))
		return damaged(reterr, "they end too early");
	if (r < 0 || retfields->bad || retmap->bad)
		return fault_errno(reterr, -ENOMEM, "fields of %zu bytes, block map of %zu", (size_t)n_fields,
				   (size_t)n_map);
	return 0;
}
