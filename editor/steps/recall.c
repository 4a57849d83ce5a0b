/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/steps/recall.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "editor/code/compiler.h"
#include "editor/steps/objects.h"

#define CODE_RATIO 16u /* of the program's size: more than objects can take */
#define CODE_BYTES (64u << 20)

/* ---- the key ---- */

/* Return: 0; -ENOENT: there is none, for code in this process has no build ID; -ENOMEM */
static int key_make(const struct edit *edit, uint8_t ret[SHA256_BYTES])
{
	_clean_(sha256_freep) struct sha256 *hash = sha256_new();
	const uint8_t *bytes;
	size_t size;
	int r;

	if (!hash)
		return -ENOMEM;
	r = compiler_add(hash);
	if (r < 0)
		return r;
	bytes = image_bytes(edit->program, &size);
	sha256_add(hash, &size, sizeof(size));
	sha256_add(hash, bytes, size);
	sha256_add(hash, edit->data->payload.data, edit->data->payload.size);
	return sha256_end(hash, ret);
}

int recall_begin(struct edit *edit, struct fault *reterr)
{
	const struct edit_options *options = edit->options;
	uint8_t key[SHA256_BYTES] = { 0 };
	struct fault fault = { "" };
	int r = options->keeps_memo ? key_make(edit, key) : -ENOENT;

	if (r == -ENOENT)
		return 0;
	edit->memo = r == 0 ? memo_new(key) : NULL;
	if (!edit->memo)
		return fault_errno(reterr, -ENOMEM, "memo");
	r = options->memo_size ? memo_read(edit->memo, options->memo, options->memo_size, &fault) : 0;
	if (r < 0)
		log_info("the memo is not used, and made anew: %s", fault.text);
	return r == -ENOMEM ? fault_errno(reterr, r, "memo") : 0;
}

/* ---- IR ---- */

static int ir_keep(struct edit *edit, struct fault *reterr)
{
	const struct morph_data *data = edit->data;
	char path[PATH_MAX];

	return data->ir.size ? memo_put(edit->memo, MEMO_IR, data->ir.data, data->ir.size,
					edit_path(edit, path, EDIT_MEMO ".ir"), reterr) :
			       0;
}

int recall_ir(struct edit *edit, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer ir = { 0 };
	uint64_t size = 0;
	int r;

	for (size_t i = 0; i < edit->data->n_modules; i++)
		size += edit->data->modules[i].size;
	r = edit->memo ? memo_get(edit->memo, MEMO_IR, size, &ir) : -ENOENT;
	if (r == 0 && morph_data_give(edit->data, &ir, NULL) == 0)
		return 0;
	r = morph_data_unpack(edit->data, reterr);
	return r == 0 && edit->memo ? ir_keep(edit, reterr) : r;
}

/* ---- code ---- */

static int code_take(struct edit *edit, const struct buffer *code, struct fault *reterr)
{
	struct reader in = reader_of(code->data, code->size);
	char path[PATH_MAX];
	int r = 0;

	if (reader_uleb(&in) != edit->data->n_modules)
		return 0;
	for (size_t i = 0; i < edit->data->n_modules && r == 0; i++) {
		bool is_restored = reader_u8(&in);
		uint64_t size = reader_uleb(&in);
		const void *object = reader_bytes(&in, size);

		if (in.bad)
			return 0;
		edit->units[i].is_restored = is_restored;
		r = file_write_scratch(edit_path(edit, path, "base-%zu.o", i), object, (size_t)size, reterr);
	}
	return r < 0 ? r : 1;
}

int recall_code(struct edit *edit, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer code = { 0 };
	size_t size;
	int r;

	if (!edit->memo)
		return 0;
	image_bytes(edit->program, &size);
	r = memo_get(edit->memo, MEMO_CODE, CODE_RATIO * (uint64_t)size + CODE_BYTES, &code);
	r = r < 0 ? 0 : code_take(edit, &code, reterr);
	edit->report->recalls_code = r == 1;
	return r;
}

int recall_code_keep(struct edit *edit, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer code = { 0 };
	char path[PATH_MAX];
	int r = 0;

	if (!edit->memo || edit->report->recalls_code)
		return 0;
	buffer_uleb(&code, edit->data->n_modules);
	for (size_t i = 0; i < edit->data->n_modules && r == 0; i++) {
		_clean_(file_map_donep) struct file_map map = { 0 };

		r = file_map_open(edit_path(edit, path, "base-%zu.o", i), &map, reterr);
		if (r < 0)
			return r;
		buffer_u8(&code, edit->units[i].is_restored);
		buffer_uleb(&code, map.size);
		buffer_bytes(&code, map.data, map.size);
	}
	if (code.bad)
		return fault_errno(reterr, -ENOMEM, "memo");
	return memo_put(edit->memo, MEMO_CODE, code.data, code.size, edit_path(edit, path, EDIT_MEMO ".code"),
			reterr);
}

/* ---- proofs ---- */

static void value_add(struct sha256 *hash, LLVMValueRef value, const struct name_set *wanted)
{
	size_t size;
	const char *name = LLVMGetValueName2(value, &size);
	uint8_t what[4] = { (uint8_t)LLVMIsDeclaration(value), (uint8_t)LLVMGetLinkage(value),
			    (uint8_t)LLVMGetVisibility(value),
			    (uint8_t)(wanted && name_set_has(wanted, name, size)) };

	sha256_add(hash, &size, sizeof(size));
	sha256_add(hash, name, size);
	sha256_add(hash, what, sizeof(what));
}

/*
 * Of the @i-th module, or what is left of it: what was taken from it (known.h, partition.h) shows in what is only declared, and in
 * names. All else that it depends on is in the memo's own key. Probes do not make code.
 */
static int module_key(size_t i, LLVMModuleRef module, const struct name_set *wanted,
		      uint8_t ret[MEMO_KEY_BYTES])
{
	_clean_(sha256_freep) struct sha256 *hash = sha256_new();
	uint8_t whole[SHA256_BYTES];
	LLVMValueRef v;

	if (!hash)
		return -ENOMEM;
	sha256_add(hash, &i, sizeof(i));
	for (v = LLVMGetFirstFunction(module); v; v = LLVMGetNextFunction(v))
		value_add(hash, v, wanted);
	for (v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
		value_add(hash, v, wanted);
	for (v = LLVMGetFirstGlobalAlias(module); v; v = LLVMGetNextGlobalAlias(v))
		value_add(hash, v, wanted);
	for (v = LLVMGetFirstGlobalIFunc(module); v; v = LLVMGetNextGlobalIFunc(v))
		value_add(hash, v, wanted);
	if (sha256_end(hash, whole) < 0)
		return -ENOMEM;
	memcpy(ret, whole, MEMO_KEY_BYTES);
	return 0;
}

static bool names_are_whole(struct reader names)
{
	size_t size;

	while (reader_left(&names) && reader_string(&names, &size))
		;
	return !names.bad;
}

int recall_proof(struct edit *edit, size_t i, LLVMModuleRef module, const struct name_set *wanted,
		 uint8_t retkey[MEMO_KEY_BYTES], struct name_set *unproven, struct fault *reterr)
{
	struct reader names;
	int r;

	if (!edit->memo)
		return 0;
	r = module_key(i, module, wanted, retkey);
	if (r < 0)
		return fault_errno(reterr, r, "memo");
	if (!memo_find(edit->memo, MEMO_PROOFS, retkey, &names) || !names_are_whole(names))
		return 0;
	while (reader_left(&names) && r == 0) {
		size_t size;
		const char *name = reader_string(&names, &size);

		r = name_set_add(unproven, name, size);
	}
	edit->report->n_proofs_recalled += r == 0;
	return r < 0 ? fault_errno(reterr, r, "memo") : 1;
}

int recall_proof_keep(struct edit *edit, const uint8_t key[MEMO_KEY_BYTES], LLVMModuleRef module,
		      const struct name_set *unproven, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer names = { 0 };
	size_t size;
	int r;

	if (!edit->memo)
		return 0;
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		const char *name = LLVMGetValueName2(f, &size);

		if (name_set_has(unproven, name, size))
			buffer_string(&names, name, size);
	}
	r = names.bad ? -ENOMEM : memo_add(edit->memo, MEMO_PROOFS, key, names.data, names.size);
	return r < 0 ? fault_errno(reterr, r, "memo") : 0;
}

/* ---- cold halves ---- */

int recall_half_key(struct edit *edit, size_t i, LLVMModuleRef cold, struct fault *reterr)
{
	int r = edit->memo ? module_key(i, cold, NULL, edit->units[i].half) : 0;

	return r < 0 ? fault_errno(reterr, r, "memo") : 0;
}

int recall_half(struct edit *edit, size_t i, const char *path, struct fault *reterr)
{
	struct reader object;
	int r;

	if (!edit->memo || !memo_find(edit->memo, MEMO_HALVES, edit->units[i].half, &object))
		return 0;
	r = file_write_scratch(path, object.at, reader_left(&object), reterr);
	edit->report->n_halves_recalled += r == 0;
	return r < 0 ? r : 1;
}

int recall_half_keep(struct edit *edit, size_t i, const char *path, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = edit->memo ? file_map_open(path, &map, reterr) : 0;

	if (r < 0 || !edit->memo)
		return r;
	r = memo_add(edit->memo, MEMO_HALVES, edit->units[i].half, map.data, map.size);
	return r < 0 ? fault_errno(reterr, r, "memo") : 0;
}

/* ---- the end ---- */

int recall_end(struct edit *edit, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer file = { 0 };
	char path[PATH_MAX];
	int r = edit->memo ? memo_write(edit->memo, &file) : 0;

	if (r < 0)
		return fault_errno(reterr, r, "memo");
	return file.size ? file_write(edit_path(edit, path, EDIT_MEMO), file.data, file.size, 0600, reterr) :
			   0;
}
