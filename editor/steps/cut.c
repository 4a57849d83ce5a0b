/* SPDX-License-Identifier: Apache-2.0 */

/* Hot functions leave their modules, and are joined into one. */

#include <errno.h>
#include <llvm-c/Core.h>
#include <string.h>

#include "base/text.h"
#include "editor/code/partition.h"
#include "editor/ir/assembly.h"
#include "editor/ir/guid.h"
#include "editor/ir/symbols.h"
#include "editor/link/object.h"
#include "editor/steps/hot.h"
#include "editor/steps/kept.h"
#include "editor/steps/objects.h"
#include "editor/steps/proofs.h"
#include "editor/steps/recall.h"
#include "editor/trust/known.h"

static bool is_hot(LLVMModuleRef module, LLVMValueRef function, void *user)
{
	const struct edit *edit = user;
	size_t size;
	const char *name = LLVMGetValueName2(function, &size);

	if (edit->as_shipped && name_set_has(edit->as_shipped, name, size))
		return false;
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
		r = recall_half_key(edit, i, cold, reterr);
		if (r == 0)
			r = ir_write(cold, &unit->cold);
		LLVMDisposeModule(cold);
	}
	if (r < 0) {
		LLVMDisposeModule(module);
		return r;
	}
	unit->is_cut = true;
	edit->report->n_hot_modules++;
	return hot_add(edit, module, reterr);
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

/* ---- a module that may be cut ---- */

struct piece {
	size_t i;
	LLVMModuleRef module;
	struct name_set *assembly;     /* names in its assembly */
	struct name_set *as_shipped;   /* functions that were asked to keep their code */
	struct name_set *wanted;       /* functions that would stay in the hot half */
	struct name_set *unproven;     /* of these */
	uint8_t proof[MEMO_KEY_BYTES]; /* key of its proof */
	bool is_proved;		       /* now, and not in an edit before */
};

static void piece_done(struct piece *piece)
{
	if (piece->module)
		LLVMDisposeModule(piece->module);
	name_set_free(piece->assembly);
	name_set_free(piece->as_shipped);
	name_set_free(piece->wanted);
	name_set_free(piece->unproven);
	*piece = (struct piece){ 0 };
}

/* A module that nothing of ran, of which too little is known, or whose assembly would be in the others' way, stays as it was shipped. */
static int piece_stay(struct edit *edit, struct piece *piece, struct fault *reterr)
{
	int r = ir_declarations(piece->module, edit->visible);

	edit->units[piece->i].keeps_base = true;
	piece_done(piece);
	return r < 0 ? fault_errno(reterr, r, "collecting symbol names") : 0;
}

/* Functions whose code hangs on facts are not hot, whatever the counts say (facts.h). */
static int piece_cut(struct edit *edit, struct piece *piece, struct fault *reterr)
{
	_clean_(name_set_freep) struct name_set *rest = name_set_new();
	LLVMModuleRef module = piece->module;
	int r;

	edit->report->n_proven += edit->options->trusts_facts ?
					  0 :
					  name_set_count(piece->wanted) - name_set_count(piece->unproven);
	unproven_name(edit->report, module, piece->unproven);
	edit->unproven = piece->unproven;
	edit->as_shipped = piece->as_shipped;
	r = rest ? partition_choose(module, piece->assembly, is_hot, edit, rest) : -ENOMEM;
	if (r < 0)
		fault_errno(reterr, r, "proving code");
	else if (has_bound(module, rest, piece->unproven) || !has_hot(module, edit)) {
		r = piece_stay(edit, piece, reterr);
	} else {
		piece->module = NULL;
		r = unit_cut(edit, piece->i, module, piece->assembly, reterr);
	}
	edit->unproven = NULL;
	edit->as_shipped = NULL;
	return r;
}

/* Return: 1: it may be cut; 0: it stays; -ENOMEM */
static int piece_choose(struct edit *edit, struct piece *piece, bool is_known)
{
	LLVMModuleRef module = piece->module;
	int r;

	piece->assembly = name_set_new();
	piece->wanted = name_set_new();
	piece->unproven = name_set_new();
	if (!piece->assembly || !piece->wanted || !piece->unproven)
		return -ENOMEM;
	r = assembly_names(module, piece->assembly);
	if (r == 0)
		r = name_set_add_all(edit->visible, piece->assembly);
	if (r < 0 || !is_known || !has_hot(module, edit) ||
	    (edit->data->n_modules > 1 && assembly_binds(module, piece->assembly)))
		return r;
	r = partition_choose(module, piece->assembly, is_hot, edit, piece->wanted);
	/* One that was asked to keep its code must be in the hot half: the module is not to be cut. */
	return r < 0 ? r : !has_bound(module, piece->wanted, edit->as_shipped);
}

/* ---- all modules, some at a time ---- */

struct pieces {
	struct piece list[PROOFS_MAX];
	size_t n;
	struct proofs *proofs;
	struct guid_table *guids;
};

static int pieces_cut(struct edit *edit, struct pieces *pieces, struct fault *reterr)
{
	int r = proofs_run(pieces->proofs, edit, reterr);

	for (size_t k = 0; k < pieces->n; k++) {
		struct piece *piece = &pieces->list[k];

		if (r == 0 && piece->is_proved)
			r = recall_proof_keep(edit, piece->proof, piece->module, piece->unproven, reterr);
		if (r == 0)
			r = piece_cut(edit, piece, reterr);
		piece_done(piece);
	}
	pieces->n = 0;
	return r;
}

static int piece_prove(struct edit *edit, struct proofs *proofs, struct piece *piece, struct fault *reterr)
{
	int r = recall_proof(edit, piece->i, piece->module, piece->wanted, piece->proof, piece->unproven,
			     reterr);

	if (r)
		return MIN(r, 0);
	piece->is_proved = true;
	return proofs_add(proofs, piece->module, piece->wanted, piece->unproven, reterr);
}

static int piece_take(struct edit *edit, struct pieces *pieces, struct piece *piece, bool is_known,
		      struct fault *reterr)
{
	int r;

	edit->as_shipped = piece->as_shipped;
	r = piece_choose(edit, piece, is_known);
	edit->as_shipped = NULL;

	if (r < 0)
		return fault_errno(reterr, r, "cutting a module in two");
	if (r == 0)
		return piece_stay(edit, piece, reterr);
	r = edit->options->trusts_facts ? 0 : piece_prove(edit, pieces->proofs, piece, reterr);
	pieces->list[pieces->n++] = *piece;
	piece->module = NULL;
	if (r == 0 && (pieces->n == PROOFS_MAX || proofs_are_many(pieces->proofs)))
		r = pieces_cut(edit, pieces, reterr);
	return r;
}

static int module_take(struct edit *edit, struct pieces *pieces, size_t i, struct fault *reterr)
{
	struct piece piece = { .i = i };
	char object[32];
	int known, r = unit_parse(edit, i, &piece.module, reterr);

	if (r < 0)
		return r;
	buffer_done(&edit->units[i].restored);
	known = known_keep(piece.module, unit_base(i, object), edit->known, edit->names.contested,
			   edit->wrapped, reterr);
	r = known < 0 ? known : guid_table_unify(pieces->guids, piece.module);
	if (r == 0)
		r = slots_note(edit->slots, piece.module);
	if (r == 0)
		r = kept_note(edit, piece.module, &piece.as_shipped);
	if (r == 0)
		r = piece_take(edit, pieces, &piece, known == 0, reterr);
	if (piece.module)
		piece_done(&piece);
	return r;
}

static int modules_take(struct edit *edit, struct pieces *pieces, struct fault *reterr)
{
	int r = 0;

	pieces->proofs = proofs_new();
	pieces->guids = guid_table_new(edit->data->map);
	if (!pieces->proofs || !pieces->guids)
		r = fault_errno(reterr, -ENOMEM, "cutting modules in two");
	for (size_t i = 0; i < edit->data->n_modules && r == 0; i++)
		r = module_take(edit, pieces, i, reterr);
	if (r == 0)
		r = pieces_cut(edit, pieces, reterr);
	if (r == 0)
		r = kept_check(edit, reterr);
	for (size_t k = 0; k < pieces->n; k++)
		piece_done(&pieces->list[k]);
	guid_table_free(pieces->guids);
	proofs_free(pieces->proofs);
	return r;
}

int pass_cut(struct edit *edit, struct fault *reterr)
{
	struct pieces pieces = { .n = 0 };
	int r = symbols_collect(edit->program, edit->data->plan, edit->visible, reterr);

	/* Of several definitions the one that won stays to be seen, or another one would take its place. */
	if (r == 0)
		r = name_set_add_all(edit->visible, edit->names.contested);
	if (r == 0)
		r = modules_take(edit, &pieces, reterr);
	if (r == 0)
		r = hot_join(edit, reterr);
	if (r == 0 && !edit->hot)
		return fault_set(
			reterr, EDIT_NOTHING, "%s",
			edit->report->n_as_shipped ?
				"all functions that ran are to stay as shipped; name fewer" :
				"the profile names no function of this program that ran; record longer");
	morph_data_forget(edit->data); /* all is in halves now */
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
		if (unit->keeps_base)
			buffer_done(&unit->cold); /* no code is made of it */
	}
	return 0;
}
