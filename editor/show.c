/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/show.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "editor/code/extract.h"
#include "editor/code/pipeline.h"
#include "editor/ir/guid.h"
#include "editor/steps/objects.h"

static bool is_shown(LLVMModuleRef module, LLVMValueRef function, void *user)
{
	const struct edit *edit = user;
	const char *wanted = edit->options->ir_of;
	const struct block_ir_function *known =
		LLVMIsDeclaration(function) ?
			NULL :
			block_map_ir_function(edit->data->map, guid_of_function(module, function));
	size_t size;
	const char *name = LLVMGetValueName2(function, &size);

	return (size == strlen(wanted) && memcmp(name, wanted, size) == 0) ||
	       (known && known->name && strcmp(known->name, wanted) == 0);
}

static int all_extract(struct edit *edit, struct buffer *text, struct fault *reterr)
{
	struct guid_table *guids = guid_table_new(edit->data->map);
	int r = guids ? 0 : fault_errno(reterr, -ENOMEM, "reading IR");

	for (size_t i = 0; i < edit->data->n_modules && r == 0; i++) {
		LLVMModuleRef module;

		r = unit_parse(edit, i, &module, reterr);
		if (r < 0)
			break;
		r = guid_table_unify(guids, module);
		if (r == 0)
			r = extract_functions(module, is_shown, edit, text, reterr);
		else
			LLVMDisposeModule(module);
	}
	guid_table_free(guids);
	return r;
}

int show_ir(const struct image *program, const struct edit_options *options, char *retpath,
	    struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer text = { 0 };
	struct edit_report report = { 0 };
	struct edit edit = { .program = program, .options = options, .report = &report };
	int r;

	pipeline_init();
	r = edit_init(&edit, reterr);
	if (r == 0)
		r = all_extract(&edit, &text, reterr);
	if (r == 0 && !text.size)
		r = fault_set(reterr, -ENOENT, "%s: its IR has no function \"%s\"", image_path(program),
			      SHOWN(options->ir_of));
	if (r == 0)
		r = file_write(edit_path(&edit, retpath, "function.ll"), text.data, text.size, 0600, reterr);
	edit_done(&edit);
	return r;
}
