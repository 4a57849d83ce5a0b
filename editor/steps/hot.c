/* SPDX-License-Identifier: Apache-2.0 */

/* The hot module: made, folded, unfolded. */

#include "editor/steps/hot.h"

#include <llvm-c/Core.h>
#include <malloc.h>

#include "base/file.h"
#include "editor/code/dispatch.h"
#include "editor/steps/objects.h"

#define PART_HALVES 16u
#define DISPATCH_ALONE 0.4 /* of what is hot: twice that is less than all of it once */

int hot_join(struct edit *edit, struct fault *reterr)
{
	LLVMModuleRef part = edit->hot_part;

	edit->hot_part = NULL;
	edit->n_hot_part = 0;
	if (edit->hot && part)
		return ir_link(edit->hot, part, reterr);
	edit->hot = edit->hot ? edit->hot : part;
	return 0;
}

int hot_add(struct edit *edit, LLVMModuleRef half, struct fault *reterr)
{
	int r = 0;

	if (edit->hot_part)
		r = ir_link(edit->hot_part, half, reterr);
	else
		edit->hot_part = half;
	return r == 0 && ++edit->n_hot_part == PART_HALVES ? hot_join(edit, reterr) : r;
}

int hot_fold(struct edit *edit, struct fault *reterr)
{
	int r = ir_write(edit->hot, &edit->hot_bitcode);

	LLVMDisposeModule(edit->hot);
	edit->hot = NULL;
	malloc_trim(0);
	return r < 0 ? fault_errno(reterr, r, "writing IR") : 0;
}

int pass_unfold(struct edit *edit, struct fault *reterr)
{
	int r = ir_parse(edit->hot_bitcode.data, edit->hot_bitcode.size, "hot", &edit->hot, reterr);

	buffer_done(&edit->hot_bitcode);
	return r;
}

/* Read once more, when the hot module has left the memory. */
static int dispatch_take(struct edit *edit, struct fault *reterr)
{
	LLVMModuleRef module;
	int r = ir_parse(edit->hot_bitcode.data, edit->hot_bitcode.size, "hot", &module, reterr);

	if (r < 0)
		return r;
	r = dispatch_alone(module, &edit->dispatch, reterr);
	LLVMDisposeModule(module);
	return r;
}

int pass_fold(struct edit *edit, struct fault *reterr)
{
	const double share = dispatch_share(edit->hot);
	char path[PATH_MAX];
	int r = hot_fold(edit, reterr);

	edit->has_dispatch = share > 0;
	if (r == 0 && share > 0 && share < DISPATCH_ALONE)
		r = dispatch_take(edit, reterr);
	return r < 0 ? r :
		       file_write(edit_path(edit, path, "hot.bc"), edit->hot_bitcode.data,
				  edit->hot_bitcode.size, 0600, reterr);
}
