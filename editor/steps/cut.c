/* SPDX-License-Identifier: Apache-2.0 */

/* Hot functions leave their modules, and are joined into one. */

#include <errno.h>
#include <llvm-c/Core.h>

#include "editor/code/partition.h"
#include "editor/ir/assembly.h"
#include "editor/ir/guid.h"
#include "editor/ir/symbols.h"
#include "editor/link/object.h"
#include "editor/steps/hot.h"
#include "editor/steps/objects.h"
#include "editor/trust/facts.h"
#include "editor/trust/known.h"

static bool is_hot(LLVMModuleRef module, LLVMValueRef function, void *user)
{
	const struct edit *edit = user;
	size_t size;
	const char *name = LLVMGetValueName2(function, &size);

	if (edit->unproven && name_set_has(edit->unproven, name, size))
		return false;
	return heat_has(edit->heat, guid_of_function(module, function));
}

static bool has_hot(LLVMModuleRef module, struct edit *edit)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f) && is_hot(module, f, edit))
			return true;
	return false;
}

static int unit_cut(struct edit *edit, size_t i, LLVMModuleRef module, const struct name_set *assembly,
		    struct fault *reterr)
{
	struct unit *unit = &edit->units[i];
	LLVMModuleRef cold = NULL;
	char suffix[32];
	int r = (unit->moved = name_set_new()) ? 0 : fault_errno(reterr, -ENOMEM, "cutting a module in two");

	unit->has_assembly = name_set_count(assembly);
	if (r == 0)
		r = partition_split(module, unit_suffix(i, suffix), assembly, is_hot, edit, &cold,
				    unit->moved, edit->visible, reterr);
	if (r == 0 && cold) {
		r = ir_write(cold, &unit->cold);
		LLVMDisposeModule(cold);
	}
	if (r < 0) {
		LLVMDisposeModule(module);
		return r;
	}
	unit->is_cut = true;
	edit->report->n_hot_modules++;
	if (edit->hot)
		return ir_link(edit->hot, module, reterr);
	edit->hot = module;
	return 0;
}

static int proof_generate(const struct buffer bitcode[2], char path[2][PATH_MAX], void *user,
			  struct fault *reterr)
{
	struct edit *edit = user;
	const struct codegen_input inputs[] = { { "with facts", bitcode[0].data, bitcode[0].size },
						{ "without facts", bitcode[1].data, bitcode[1].size } };

	edit_path(edit, path[0], "proof-0.o");
	edit_path(edit, path[1], "proof-1.o");
	return objects_generate(edit, inputs, ARRAY_SIZE(inputs), (const char *[]){ NULL }, "proof", reterr);
}

/* Is one of @bound among those that @module's hot half needs? */
static bool has_bound(LLVMModuleRef module, const struct name_set *needed, const struct name_set *bound)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		size_t size;
		const char *name = LLVMGetValueName2(f, &size);

		if (name_set_has(needed, name, size) && name_set_has(bound, name, size))
			return true;
	}
	return false;
}

static void unproven_name(struct edit_report *report, LLVMModuleRef module, const struct name_set *unproven)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		size_t size;
		const char *name = LLVMGetValueName2(f, &size);

		if (report->n_unproven < EDIT_NAMED_MAX && name_set_has(unproven, name, size))
			snprintf(report->unproven[report->n_unproven], EDIT_NAME_BYTES, "%.*s", (int)size,
				 name);
		report->n_unproven += name_set_has(unproven, name, size);
	}
}

/*
 * Functions whose code hangs on facts are not hot, whatever the counts say (facts.h).
 * Return: 0; 1: one of them must be in the hot half, so the module is not to be cut.
 */
static int unproven_find(struct edit *edit, LLVMModuleRef module, const struct name_set *assembly,
			 struct name_set *unproven, struct fault *reterr)
{
	_clean_(name_set_freep) struct name_set *wanted = name_set_new(), *rest = name_set_new();
	int r = wanted && rest ? partition_choose(module, assembly, is_hot, edit, wanted) : -ENOMEM;

	if (edit->options->trusts_facts)
		return r < 0 ? fault_errno(reterr, r, "proving code") : 0;
	if (r == 0)
		r = facts_prove(module, wanted, proof_generate, edit, unproven, reterr);
	if (r < 0)
		return r;
	edit->unproven = unproven;
	edit->report->n_proven += name_set_count(wanted) - name_set_count(unproven);
	unproven_name(edit->report, module, unproven);
	r = partition_choose(module, assembly, is_hot, edit, rest);
	return r < 0 ? fault_errno(reterr, r, "proving code") : has_bound(module, rest, unproven);
}

/* A module that nothing of ran, of which too little is known, or whose assembly would be in the others' way, stays as it was shipped. */
static int module_take(struct edit *edit, size_t i, LLVMModuleRef module, bool is_known, struct fault *reterr)
{
	_clean_(name_set_freep) struct name_set *assembly = name_set_new(), *unproven = name_set_new();
	int r = assembly && unproven ? assembly_names(module, assembly) : -ENOMEM;

	edit->unproven = NULL;
	if (r == 0)
		r = name_set_add_all(edit->visible, assembly);
	if (r == 0 && is_known && has_hot(module, edit) &&
	    (edit->data->n_modules == 1 || !assembly_binds(module, assembly)))
		r = unproven_find(edit, module, assembly, unproven, reterr);
	else if (r == 0)
		r = 1;
	if (r == 0 && has_hot(module, edit))
		return unit_cut(edit, i, module, assembly, reterr);
	if (r >= 0)
		r = ir_declarations(module, edit->visible);
	edit->units[i].keeps_base = true;
	LLVMDisposeModule(module);
	return r;
}

static int module_cut(struct edit *edit, size_t i, struct guid_table *guids, struct fault *reterr)
{
	LLVMModuleRef module;
	char object[32];
	int known, r = unit_parse(edit, i, &module, reterr);

	if (r < 0)
		return r;
	buffer_done(&edit->units[i].restored);
	known = known_keep(module, unit_base(i, object), edit->known, edit->names.contested, reterr);
	r = known < 0 ? known : guid_table_unify(guids, module);
	if (r == 0)
		r = slots_note(edit->slots, module);
	if (r == 0)
		return module_take(edit, i, module, known == 0, reterr);
	LLVMDisposeModule(module);
	return r;
}

int pass_cut(struct edit *edit, struct fault *reterr)
{
	struct guid_table *guids = guid_table_new(edit->data->map);
	int r = guids ? symbols_collect(edit->program, edit->data->plan, edit->visible, reterr) : -ENOMEM;

	/* Of several definitions the one that won stays to be seen, or another one would take its place. */
	if (r == 0)
		r = name_set_add_all(edit->visible, edit->names.contested);
	for (size_t i = 0; i < edit->data->n_modules && r == 0; i++)
		r = module_cut(edit, i, guids, reterr);
	guid_table_free(guids);
	if (r == 0 && !edit->hot)
		return fault_set(reterr, EDIT_NOTHING,
				 "the profile names no function of this program that ran; record longer");
	return r < 0 ? r : hot_fold(edit, reterr);
}

/* What was generated of a module's cold half serves again, where its object can be had without the hot one. */
int pass_keep(struct edit *edit, struct fault *reterr)
{
	char path[PATH_MAX], suffix[32];

	for (size_t i = 0; i < edit->data->n_modules; i++) {
		struct unit *unit = &edit->units[i];
		int r;

		if (!unit->cold.size || unit->has_assembly)
			continue;
		r = object_give_away(edit_path(edit, path, "base-%zu.o", i), unit->moved,
				     unit_suffix(i, suffix), edit->visible, reterr);
		if (r < 0 && r != -ENOTSUP)
			return r;
		unit->keeps_base = r == 0;
		edit->report->n_kept_objects += r == 0;
	}
	return 0;
}
