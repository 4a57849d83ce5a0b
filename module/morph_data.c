/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The payload, in order: build IDs and version of the codegen; packed fields (options, link plan, names and sizes of
 * the modules) and block map; the modules' SHA-256, and their IR, packed. Texts and blocks of bytes carry their
 * length (ULEB128).
 */

#define _GNU_SOURCE
#include "module/morph_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/file.h"
#include "module/bitcode_pack.h"
#include "module/field_pack.h"
#include "module/sidecar.h"

#define COMPRESSION_LEVEL 9
#define PAYLOAD_RATIO 4u
#define PAYLOAD_BYTES (256u << 10)

static void text_encode(struct buffer *out, const char *text)
{
	buffer_string(out, text ? text : "", text ? strlen(text) : 0);
}

static int prior_make(const struct morph_data *data, struct bitcode_prior *ret)
{
	return bitcode_prior_make(data->image, data->map, data->plan, ret);
}

static int ir_hash(const struct bitcode_span *modules, size_t n, uint8_t ret[SHA256_BYTES])
{
	_clean_(sha256_freep) struct sha256 *hash = sha256_new();

	if (!hash)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sha256_add(hash, modules[i].bytes, modules[i].size);
	return sha256_end(hash, ret);
}

static int ir_encode(const struct morph_data *data, struct buffer *out)
{
	_clean_(freep) struct bitcode_span *spans = calloc(MAX(data->n_modules, 1u), sizeof(*spans));
	_clean_(bitcode_prior_done) struct bitcode_prior prior = { 0 };
	uint8_t hash[SHA256_BYTES];
	int r = spans ? 0 : -ENOMEM;

	if (r < 0 || !data->n_modules)
		return r;
	for (size_t i = 0; i < data->n_modules; i++)
		spans[i] = (struct bitcode_span){ data->modules[i].bitcode, data->modules[i].size };
	r = ir_hash(spans, data->n_modules, hash);
	if (r == 0)
		r = prior_make(data, &prior);
	if (r < 0)
		return r;
	buffer_bytes(out, hash, sizeof(hash));
	return bitcode_pack(spans, data->n_modules, &prior, out);
}

/* What whoever only wants to know what this is reads (morph_data_peek()). */
static void first_encode(const struct morph_data *data, const struct build_id *id, struct buffer *out)
{
	buffer_string(out, (const char *)id->bytes, id->size);
	buffer_string(out, (const char *)data->origin.bytes, data->origin.size);
	text_encode(out, data->llvm_version);
}

static void fields_encode(const struct morph_data *data, struct buffer *out)
{
	_clean_(buffer_donep) struct buffer plan = { 0 };

	text_encode(out, data->triple);
	text_encode(out, data->cpu);
	text_encode(out, data->selftest);
	text_encode(out, data->benchmark);
	buffer_u8(out, (uint8_t)data->lto);
	buffer_u8(out, (uint8_t)data->opt_level);
	buffer_u8(out, (uint8_t)data->lto_level);
	buffer_u8(out, data->strips);
	buffer_u8(out, data->pic);
	buffer_uleb(out, data->n_options);
	for (size_t i = 0; i < data->n_options; i++)
		text_encode(out, data->options[i]);
	link_plan_encode(data->plan, &plan);
	out->bad |= plan.bad;
	buffer_string(out, (const char *)plan.data, plan.size);
	buffer_uleb(out, data->n_modules);
	for (size_t i = 0; i < data->n_modules; i++) {
		text_encode(out, data->modules[i].name);
		buffer_uleb(out, data->modules[i].size);
	}
}

int morph_data_hash(const struct morph_data *data, struct sha256 *hash)
{
	_clean_(buffer_donep) struct buffer head = { 0 };
	struct build_id id = data->map->build_id;
	int r;

	data->map->build_id = (struct build_id){ 0 };
	first_encode(data, &data->map->build_id, &head);
	fields_encode(data, &head);
	r = block_map_encode(data->map, &head);
	data->map->build_id = id;
	if (r < 0 || head.bad)
		return -ENOMEM;
	sha256_add(hash, head.data, head.size);
	for (size_t i = 0; i < data->n_modules; i++)
		sha256_add(hash, data->modules[i].bitcode, data->modules[i].size);
	return 0;
}

int morph_data_encode_head(const struct morph_data *data, struct buffer *ret)
{
	_clean_(buffer_donep) struct buffer fields = { 0 };
	_clean_(buffer_donep) struct buffer map = { 0 };
	int r = block_map_encode(data->map, &map);

	first_encode(data, &data->build_id, ret);
	fields_encode(data, &fields);
	if (r < 0 || fields.bad)
		return -ENOMEM;
	return field_pack(&data->build_id, &fields, &map, true, ret);
}

int morph_data_encode(const struct morph_data *data, struct buffer *retcontainer)
{
	_clean_(buffer_donep) struct buffer out = { 0 };
	int r = morph_data_encode_head(data, &out);

	if (r == 0)
		r = ir_encode(data, &out);
	if (r < 0)
		return r;
	return container_pack(CONTAINER_MORPH, MORPH_DATA_VERSION, out.data, out.size, COMPRESSION_LEVEL,
			      retcontainer);
}

static int damaged(const char *what, struct fault *reterr)
{
	return fault_set(reterr, -EBADMSG, ".morph data damaged: %s", what);
}

/* An empty text stands for none. */
static int text_decode(struct reader *in, char **ret, struct fault *reterr)
{
	size_t n;
	const char *text = reader_string(in, &n);

	if (!text || (n && memchr(text, 0, n)))
		return damaged("text", reterr);
	if (n == 0)
		return 0;
	*ret = strndup(text, n);
	return *ret ? 0 : fault_errno(reterr, -ENOMEM, ".morph data");
}

static int options_decode(struct morph_data *data, struct reader *in, struct fault *reterr)
{
	uint64_t n = reader_uleb(in);

	if (in->bad || n > reader_left(in))
		return damaged("options", reterr);
	data->options = calloc(n + 1, sizeof(char *));
	if (!data->options)
		return fault_errno(reterr, -ENOMEM, ".morph data");
	for (uint64_t i = 0; i < n; i++) {
		int r = text_decode(in, &data->options[i], reterr);

		if (r < 0)
			return r;
		data->n_options++;
		if (!data->options[i])
			return damaged("empty option", reterr);
	}
	return 0;
}

static int id_decode(struct reader *in, struct build_id *ret, struct fault *reterr)
{
	size_t size;
	const char *bytes = reader_string(in, &size);

	if (!bytes || size > BUILD_ID_MAX_BYTES)
		return damaged("build ID", reterr);
	ret->size = (uint8_t)size;
	memcpy(ret->bytes, bytes, size);
	return 0;
}

static int first_decode(struct morph_data *data, struct reader *in, struct fault *reterr)
{
	int r;

	if (id_decode(in, &data->build_id, reterr) < 0 || id_decode(in, &data->origin, reterr) < 0)
		return -EBADMSG;
	r = text_decode(in, &data->llvm_version, reterr);
	return r < 0 ? r : data->llvm_version ? 0 : damaged("names no compiler", reterr);
}

static int head_decode(struct morph_data *data, struct reader *in, struct fault *reterr)
{
	char **texts[] = { &data->triple, &data->cpu, &data->selftest, &data->benchmark };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		int r = text_decode(in, texts[i], reterr);

		if (r < 0)
			return r;
	}
	if (!data->triple)
		return damaged("names no compiler", reterr);
	data->lto = (enum morph_lto)reader_u8(in);
	data->opt_level = reader_u8(in);
	data->lto_level = reader_u8(in);
	data->strips = reader_u8(in) != 0;
	data->pic = reader_u8(in) != 0;
	if (in->bad || (data->lto != MORPH_LTO_THIN && data->lto != MORPH_LTO_FULL) || data->opt_level > 3 ||
	    data->lto_level > 3)
		return damaged("options of the codegen", reterr);
	return options_decode(data, in, reterr);
}

static int map_decode(struct morph_data *data, const struct buffer *map, struct fault *reterr)
{
	int r = block_map_decode(map->data, map->size, &data->map, reterr);

	if (r == 0 && !build_id_is_equal(&data->map->build_id, &data->build_id))
		return damaged("its block map is of another build ID", reterr);
	return r < 0 ? fault_prefix(reterr, r, ".morph data") : 0;
}

static int plan_decode(struct morph_data *data, struct reader *in, struct fault *reterr)
{
	size_t size;
	const char *plan = reader_string(in, &size);
	int r;

	if (!plan)
		return damaged("link plan", reterr);
	r = link_plan_decode(plan, size, &data->plan, reterr);
	return r < 0 ? fault_prefix(reterr, r, ".morph data") : 0;
}

static int modules_decode(struct morph_data *data, struct reader *in, struct fault *reterr)
{
	uint64_t n = reader_uleb(in);

	if (in->bad || n > reader_left(in))
		return damaged("modules", reterr);
	data->modules = calloc(n ? n : 1, sizeof(*data->modules));
	if (!data->modules)
		return fault_errno(reterr, -ENOMEM, ".morph data");
	for (; data->n_modules < n; data->n_modules++) {
		struct morph_module *module = &data->modules[data->n_modules];
		int r = text_decode(in, &module->name, reterr);

		if (r < 0)
			return r;
		module->size = reader_uleb(in);
	}
	return in->bad || reader_left(in) ? damaged("modules", reterr) : 0;
}

static int fields_decode(struct morph_data *data, struct reader *in, struct fault *reterr)
{
	int r = head_decode(data, in, reterr);

	if (r == 0)
		r = plan_decode(data, in, reterr);
	return r == 0 ? modules_decode(data, in, reterr) : r;
}

static int ir_find(struct morph_data *data, struct reader *in, struct fault *reterr)
{
	data->ir_hash = data->n_modules ? reader_bytes(in, SHA256_BYTES) : NULL;
	if (in->bad)
		return damaged("IR", reterr);
	data->n_packed = reader_left(in);
	data->packed = reader_bytes(in, data->n_packed);
	return 0;
}

/* @max: bytes of fields and block map */
static int payload_decode(struct morph_data *data, uint64_t max, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer map = { 0 };
	struct reader in = reader_of(data->payload.data, data->payload.size), fields;
	int r = first_decode(data, &in, reterr);

	if (r < 0)
		return r;
	r = field_unpack(&data->build_id, &in, max, true, &data->fields, &map, reterr);
	if (r < 0)
		return fault_prefix(reterr, r, ".morph data");
	fields = reader_of(data->fields.data, data->fields.size);
	r = fields_decode(data, &fields, reterr);
	if (r == 0)
		r = map_decode(data, &map, reterr);
	return r == 0 ? ir_find(data, &in, reterr) : r;
}

static int decode(const void *container, size_t size, uint64_t max, struct morph_data **ret,
		  struct fault *reterr)
{
	_clean_(morph_data_freep) struct morph_data *data = calloc(1, sizeof(*data));
	int r;

	if (!data)
		return fault_errno(reterr, -ENOMEM, ".morph data");
	r = container_unpack_limited(container, size, CONTAINER_MORPH, MORPH_DATA_VERSION, max,
				     &data->payload, reterr);
	if (r < 0)
		return r;
	r = payload_decode(data, max, reterr);
	if (r < 0)
		return r;
	*ret = TAKE(data);
	return 0;
}

int morph_data_decode(const void *container, size_t size, struct morph_data **ret, struct fault *reterr)
{
	return decode(container, size, CONTAINER_MAX_BYTES, ret, reterr);
}

/* What comes out depends on both, and nobody can tell which of them was changed. */
static int ir_differs(const struct morph_data *data, struct fault *reterr)
{
	return fault_set(
		reterr, -EBADMSG,
		"%s: its IR is damaged, or was packed beside other loaded bytes; install program and "
		"Morph data as they were built",
		data->image ? image_path(data->image) : ".morph data");
}

static int ir_check(const struct morph_data *data, const struct buffer *ir, struct fault *reterr)
{
	const struct bitcode_span all = { ir->data, ir->size };
	uint8_t hash[SHA256_BYTES];

	if (ir_hash(&all, 1, hash) < 0)
		return fault_errno(reterr, -ENOMEM, ".morph data");
	return memcmp(hash, data->ir_hash, sizeof(hash)) == 0 ? 0 : ir_differs(data, reterr);
}

static int ir_unpack(struct morph_data *data, const size_t *sizes, struct fault *reterr)
{
	_clean_(bitcode_prior_done) struct bitcode_prior prior = { 0 };
	int r = prior_make(data, &prior);

	if (r < 0)
		return fault_errno(reterr, r, ".morph data");
	r = bitcode_unpack(data->packed, data->n_packed, &prior, sizes, data->n_modules, &data->ir, reterr);
	if (r == 0)
		return ir_check(data, &data->ir, reterr);
	return r == -EBADMSG ? ir_differs(data, reterr) : fault_prefix(reterr, r, ".morph data");
}

static void modules_place(struct morph_data *data)
{
	size_t at = 0;

	for (size_t i = 0; i < data->n_modules; at += data->modules[i++].size)
		data->modules[i].bitcode = data->ir.data + at;
}

int morph_data_unpack(struct morph_data *data, struct fault *reterr)
{
	_clean_(freep) size_t *sizes = NULL;
	int r;

	if (data->ir.data || !data->n_modules)
		return 0;
	sizes = calloc(data->n_modules, sizeof(*sizes));
	if (!sizes)
		return fault_errno(reterr, -ENOMEM, ".morph data");
	for (size_t i = 0; i < data->n_modules; i++)
		sizes[i] = data->modules[i].size;
	r = ir_unpack(data, sizes, reterr);
	if (r < 0) {
		buffer_done(&data->ir);
		return r;
	}
	modules_place(data);
	return 0;
}

int morph_data_give(struct morph_data *data, struct buffer *ir, struct fault *reterr)
{
	uint64_t size = 0;
	int r;

	if (data->ir.data || !data->n_modules)
		return 0;
	for (size_t i = 0; i < data->n_modules; i++)
		size += data->modules[i].size;
	r = size == ir->size ? ir_check(data, ir, reterr) : ir_differs(data, reterr);
	if (r < 0)
		return r;
	data->ir = *ir;
	*ir = (struct buffer){ 0 };
	modules_place(data);
	return 0;
}

void morph_data_forget(struct morph_data *data)
{
	buffer_done(&data->ir);
	for (size_t i = 0; i < data->n_modules; i++)
		data->modules[i].bitcode = NULL;
}

void morph_data_free(struct morph_data *data)
{
	if (!data)
		return;
	for (size_t i = 0; i < data->n_modules; i++)
		free(data->modules[i].name);
	for (size_t i = 0; i < data->n_options; i++)
		free(data->options[i]);
	free(data->modules);
	free(data->options);
	free(data->llvm_version);
	free(data->triple);
	free(data->cpu);
	free(data->selftest);
	free(data->benchmark);
	block_map_free(data->map);
	link_plan_free(data->plan);
	buffer_done(&data->payload);
	buffer_done(&data->fields);
	buffer_done(&data->ir);
	free(data);
}

/*
 * What describes a file is not much larger than the file (about one time as large where it was looked at); what inflates
 * to more is there to fill memory.
 */
static uint64_t payload_max(const struct image *image, size_t sidecar_size)
{
	size_t size;

	image_bytes(image, &size);
	return MIN(PAYLOAD_RATIO * ((uint64_t)size + sidecar_size) + PAYLOAD_BYTES,
		   (uint64_t)CONTAINER_MAX_BYTES);
}

static int sidecar_load(const struct image *image, const char *dir, struct morph_data **ret,
			struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = sidecar_open(image, dir, &map, reterr);

	if (r < 0)
		return r;
	r = decode(map.data, map.size, payload_max(image, map.size), ret, reterr);
	return r < 0 ? fault_prefix(reterr, r, "%s: sidecar", image_path(image)) : 0;
}

int morph_data_load(const struct image *image, const char *sidecar_dir, struct morph_data **ret,
		    struct fault *reterr)
{
	const struct image_section *section = image_section_find(image, MORPH_SECTION);
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	int r;

	if (section && section->data) {
		r = decode(section->data, section->size, payload_max(image, 0), &data, reterr);
		if (r < 0)
			return fault_prefix(reterr, r, "%s", image_path(image));
	} else {
		r = sidecar_load(image, sidecar_dir, &data, reterr);
		if (r < 0)
			return r;
	}
	if (!build_id_is_equal(&data->build_id, image_build_id(image)))
		return fault_set(reterr, -EBADMSG,
				 "%s: its Morph data is of another build; build it again with morph-cc",
				 image_path(image));
	data->image = image;
	*ret = TAKE(data);
	return 0;
}
