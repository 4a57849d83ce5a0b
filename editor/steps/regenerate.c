/* SPDX-License-Identifier: Apache-2.0 */

/* The first passes: is the shipped file what its IR makes? */

#define _GNU_SOURCE
#include <errno.h>
#include <llvm-c/Core.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "editor/ir/symbols.h"
#include "editor/link/object.h"
#include "editor/steps/differences.h"
#include "editor/steps/objects.h"
#include "editor/steps/recall.h"
#include "editor/trust/plan_check.h"

int pass_plan(struct edit *edit, struct fault *reterr)
{
	return plan_check(edit->data, reterr);
}

static int unit_restore(struct edit *edit, size_t i, struct fault *reterr)
{
	struct unit *unit = &edit->units[i];
	LLVMModuleRef module;
	int r = unit_parse(edit, i, &module, reterr);

	if (r < 0)
		return r;
	unit->is_restored = ir_restore_used(module);
	if (unit->is_restored && ir_write(module, &unit->restored) < 0)
		r = fault_errno(reterr, -ENOMEM, "reading IR");
	LLVMDisposeModule(module);
	return r;
}

static int units_restore(struct edit *edit, struct fault *reterr)
{
	int r = 0;

	for (size_t i = 0; i < edit->data->n_modules && r == 0; i++)
		if (!edit->report->recalls_code || edit->units[i].is_restored)
			r = unit_restore(edit, i, reterr);
	return r;
}

/* Modules get back what they lost on their way into the shipped file. With the code of them all it is known which had lost something. */
int pass_restore(struct edit *edit, struct fault *reterr)
{
	int r = recall_code(edit, reterr);

	return r < 0 ? r : units_restore(edit, reterr);
}

static struct codegen_input unit_input(const struct edit *edit, size_t i)
{
	const struct morph_module *m = &edit->data->modules[i];
	const struct unit *unit = &edit->units[i];

	return unit->restored.size ?
		       (struct codegen_input){ m->name, unit->restored.data, unit->restored.size } :
		       (struct codegen_input){ m->name, m->bitcode, m->size };
}

/* What needs code. Return: how many; @which: their numbers */
static size_t units_without_code(const struct edit *edit, struct codegen_input *inputs, size_t *which,
				 bool *taken)
{
	size_t n = 0;

	for (size_t i = 0; i < edit->data->n_modules; i++) {
		if (edit->units[i].has_code)
			continue;
		inputs[n] = unit_input(edit, i);
		taken[n] = !edit->units[i].is_doubted;
		which[n++] = i;
	}
	return n;
}

/* The @k-th object that was made is of module @i; it comes to its place. */
static int unit_take(struct edit *edit, size_t i, size_t k, bool is_taken, struct fault *reterr)
{
	char from[PATH_MAX], to[PATH_MAX];

	edit_path(edit, from, "code-%zu.o", k);
	if (rename(from, edit_path(edit, to, "base-%zu.o", i)) < 0)
		return fault_errno(reterr, -errno, "%s", from);
	edit->units[i].has_code = true;
	edit->units[i].is_taken = is_taken;
	return object_ungroup(to, reterr);
}

/* All modules have their code as shipped; what did not run is linked again later. */
static int code_generate(struct edit *edit, struct fault *reterr)
{
	size_t n = edit->data->n_modules;
	_clean_(freep) struct codegen_input *inputs = calloc(n + 1, sizeof(*inputs));
	_clean_(freep) size_t *which = calloc(n + 1, sizeof(*which));
	_clean_(freep) bool *taken = calloc(n + 1, sizeof(*taken));
	int r;

	if (!inputs || !which || !taken)
		return fault_errno(reterr, -ENOMEM, "generating the shipped code");
	n = units_without_code(edit, inputs, which, taken);
	r = n ? objects_take(edit, inputs, n, (const char *[]){ "-pgo-analysis-map=br-prob", NULL }, "code",
			     taken, reterr) :
		0;
	for (size_t k = 0; k < n && r == 0; k++)
		r = unit_take(edit, which[k], k, taken[k], reterr);
	return r;
}

int pass_regenerate(struct edit *edit, struct fault *reterr)
{
	return edit->report->recalls_code ? 0 : code_generate(edit, reterr);
}

/* The build ID is the shipped one, so that nothing moves and nothing differs. */
static int shipped_link(struct edit *edit, const char *out, struct fault *reterr)
{
	char id[BUILD_ID_MAX_TEXT], option[BUILD_ID_MAX_TEXT + 16];
	size_t n = edit->data->n_modules;
	char **objects = calloc(n + 1, sizeof(*objects));
	int r = objects ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++)
		if (asprintf(&objects[i], "%s/base-%zu.o", edit->options->directory, i) < 0)
			r = -ENOMEM;
	if (r == -ENOMEM)
		fault_errno(reterr, r, "linking the shipped code");
	snprintf(option, sizeof(option), "--build-id=0x%s", build_id_text(image_build_id(edit->program), id));
	if (r == 0)
		r = objects_link(edit, objects, (const char *const[]){ option, NULL }, out, &edit->known,
				 reterr);
	objects_free(objects);
	return r;
}

static int shipped_compare(struct edit *edit, struct fault *reterr)
{
	_clean_(image_freep) struct image *again = NULL;
	_clean_(block_map_freep) struct block_map *map = NULL;
	char path[PATH_MAX];
	int r;

	link_map_free(edit->known);
	edit->known = NULL;
	r = shipped_link(edit, edit_path(edit, path, "again"), reterr);
	if (r == 0)
		r = linked_open(path, &again, &map, reterr);
	if (r == 0)
		r = block_map_make_unique(map);
	if (r == 0)
		r = trust_compare(edit->program, edit->data->map, again, map, &edit->report->trust, reterr);
	if (r > 0 && differences_find(edit, again, map, reterr) < 0)
		return -EIO;
	return r > 0 ? EDIT_UNTRUSTED : r;
}

/* What is linked from here on has the installed file's run path: its link may have had another (editor/trust/run_path.h). */
static int run_path_take(struct edit *edit, struct fault *reterr)
{
	edit->run_path = dynamic_run_path(&edit->dynamic, NULL);
	return edit->run_path ? 0 :
				fault_set(reterr, -EBADMSG,
					  "%s: its run path (DT_RUNPATH) cannot be read, or it has several",
					  image_path(edit->program));
}

/* Once more, with new code of those that have none any more. */
static int compare_again(struct edit *edit, struct fault *difference)
{
	int r;

	difference->text[0] = '\0';
	for (size_t i = 0; i < edit->data->n_modules; i++)
		edit->units[i].differs = false;
	r = code_generate(edit, difference);
	return r < 0 ? r : shipped_compare(edit, difference);
}

/* Code from a memo that does not make the shipped file, or does not even link, counts for nothing. */
static int recalled_compare(struct edit *edit, struct fault *difference)
{
	int r = shipped_compare(edit, difference);

	if (r == 0 || !edit->report->recalls_code)
		return r;
	edit->report->recalls_code = false;
	for (size_t i = 0; i < edit->data->n_modules; i++) {
		buffer_done(&edit->units[i].restored);
		edit->units[i].restored = (struct buffer){ 0 };
	}
	log_info("the memo's code is not that of the program, and is made anew");
	r = units_restore(edit, difference);
	return r < 0 ? r : compare_again(edit, difference);
}

/* Nor does code from the cache: of the modules that differ; where none does, of all. Return: is any to be made anew? */
static bool taken_doubt(struct edit *edit)
{
	size_t n = edit->data->n_modules, n_differ = 0, n_doubted = 0;

	for (size_t i = 0; i < n; i++)
		n_differ += edit->units[i].differs;
	for (size_t i = 0; i < n; i++) {
		struct unit *unit = &edit->units[i];

		if (!unit->is_taken || (n_differ && !unit->differs))
			continue;
		unit->is_taken = unit->has_code = false;
		n_doubted += unit->is_doubted = true;
	}
	return n_doubted;
}

/* As long as what differs may be the cache's fault. */
static int taken_compare(struct edit *edit, int r, struct fault *difference)
{
	while (r != 0 && taken_doubt(edit))
		r = compare_again(edit, difference);
	return r;
}

int pass_compare(struct edit *edit, struct fault *reterr)
{
	struct fault *difference = &edit->report->difference;
	int r = taken_compare(edit, recalled_compare(edit, difference), difference);

	if (r == 0)
		r = recall_code_keep(edit, difference);
	if (r < 0)
		return fault_set(reterr, r, "%s", difference->text);
	if (r == EDIT_UNTRUSTED && edit->options->checks_only)
		return fault_set(reterr, r, "%s", difference->text);
	/* When rebased, what was just generated stands for the shipped code: counts find their blocks by probes, not by addresses. */
	if (r == EDIT_UNTRUSTED && !edit->options->rebase)
		return fault_set(reterr, r,
				 "the shipped IR is not the program: %s; it was built by another LLVM, "
				 "altered, or built with -g "
				 "and its code depends on that: build it again with this LLVM or without -g, "
				 "or take its IR at its word "
				 "(--rebase, or rebase in morphd.conf)",
				 difference->text);
	return run_path_take(edit, reterr);
}

/* What the names stand for that the shipped code uses. */
int pass_names(struct edit *edit, struct fault *reterr)
{
	char path[PATH_MAX], object[32];
	int r = symbols_of_options(edit->data->plan, edit->words);

	if (r == 0)
		r = symbols_wrapped(edit->data->plan, edit->wrapped);
	if (r < 0)
		return fault_errno(reterr, r, "collecting symbol names");
	for (size_t i = 0; i < edit->data->n_modules && r == 0; i++)
		r = references_collect(edit_path(edit, path, "%s", unit_base(i, object)), object, edit->known,
				       &edit->names, reterr);
	for (size_t i = 0; i < edit->data->plan->n_inputs && r == 0; i++) {
		snprintf(object, sizeof(object), "plan-%zu.o", i);
		if (edit->data->plan->inputs[i].kind == LINK_OBJECT)
			r = references_collect(edit_path(edit, path, "%s", object), object, edit->known,
					       &edit->names, reterr);
	}
	return r;
}
