/* SPDX-License-Identifier: Apache-2.0 */

/* Passes that fold the hot module and unfold it. */

#include "editor/steps/hot.h"

#include <llvm-c/Core.h>
#include <malloc.h>

#include "base/file.h"
#include "editor/steps/objects.h"

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

int pass_fold(struct edit *edit, struct fault *reterr)
{
	char path[PATH_MAX];
	int r = hot_fold(edit, reterr);

	return r < 0 ? r :
		       file_write(edit_path(edit, path, "hot.bc"), edit->hot_bitcode.data,
				  edit->hot_bitcode.size, 0600, reterr);
}
