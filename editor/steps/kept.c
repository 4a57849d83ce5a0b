/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/steps/kept.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "editor/ir/guid.h"

static int compare_name(const void *name, const void *kept)
{
	return strcmp(name, ((const struct edit_kept *)kept)->name);
}

/* The position of @name among those that were asked for; -1: it is none of them. */
static ptrdiff_t position_of(const struct edit_options *options, const char *name)
{
	const struct edit_kept *found = name ? bsearch(name, options->as_shipped, options->n_as_shipped,
						       sizeof(*found), compare_name) :
					       NULL;

	return found ? found - options->as_shipped : -1;
}

/* Does the wish hold for this very function? */
static bool is_meant(struct edit *edit, ptrdiff_t i, uint64_t cfg_hash)
{
	const struct edit_kept *asked = &edit->options->as_shipped[i];
	struct edit_report_kept *told = &edit->report->kept[i];

	if (asked->cfg_hash && cfg_hash != asked->cfg_hash) {
		if (told->state == KEPT_ABSENT)
			*told = (struct edit_report_kept){ cfg_hash, KEPT_CHANGED };
		return false;
	}
	*told = (struct edit_report_kept){ cfg_hash, KEPT };
	return true;
}

int kept_note(struct edit *edit, LLVMModuleRef module, struct name_set **ret)
{
	const struct edit_options *options = edit->options;

	*ret = name_set_new();
	if (!*ret)
		return -ENOMEM;
	for (LLVMValueRef f = options->n_as_shipped ? LLVMGetFirstFunction(module) : NULL; f;
	     f = LLVMGetNextFunction(f)) {
		uint64_t guid = LLVMIsDeclaration(f) ? 0 : guid_of_function(module, f);
		const struct block_ir_function *known = block_map_ir_function(edit->data->map, guid);
		size_t size;
		const char *name = LLVMGetValueName2(f, &size);
		ptrdiff_t by_symbol = LLVMIsDeclaration(f) ? -1 : position_of(options, name);
		ptrdiff_t by_source = known ? position_of(options, known->name) : -1;
		uint64_t hash = known ? known->cfg_hash : 0;
		bool is_kept = by_symbol >= 0 && is_meant(edit, by_symbol, hash);

		if (by_source >= 0 && by_source != by_symbol)
			is_kept |= is_meant(edit, by_source, hash);
		if (is_kept && name_set_add(*ret, name, size) < 0)
			return -ENOMEM;
		edit->report->n_as_shipped += is_kept;
	}
	return 0;
}

/* A name that stands for nothing was misspelled, or is of another build: whoever gave it would think that it is kept. */
int kept_check(const struct edit *edit, struct fault *reterr)
{
	const struct edit_options *options = edit->options;

	for (size_t i = 0; i < options->n_as_shipped; i++)
		if (edit->report->kept[i].state != KEPT && !options->as_shipped[i].may_lack)
			return fault_set(reterr, -ENOENT,
					 "%s: no function \"%s\" to keep as shipped; `morph profile show` "
					 "has the names of those that ran",
					 image_path(edit->program), SHOWN(options->as_shipped[i].name));
	return 0;
}
