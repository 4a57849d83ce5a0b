/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/edit.h"

#include <errno.h>
#include <limits.h>
#include <llvm-c/Core.h>
#include <malloc.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "editor/code/codegen.h"
#include "editor/code/host.h"
#include "editor/code/imports.h"
#include "editor/code/loops.h"
#include "editor/code/partition.h"
#include "editor/code/pipeline.h"
#include "editor/count/heat.h"
#include "editor/count/indirect.h"
#include "editor/count/inlining.h"
#include "editor/count/prediction.h"
#include "editor/count/room.h"
#include "editor/generation.h"
#include "editor/ir/assembly.h"
#include "editor/ir/guid.h"
#include "editor/ir/ir.h"
#include "editor/ir/probes.h"
#include "editor/ir/symbols.h"
#include "editor/link/object.h"
#include "editor/link/placement.h"
#include "editor/link/relink.h"
#include "editor/trust/facts.h"
#include "editor/trust/known.h"
#include "editor/trust/link_map.h"
#include "editor/trust/plan_check.h"
#include "editor/trust/references.h"
#include "module/morph_data.h"

enum step { TRUST, CUT, ANNOTATE, OPTIMIZE, GENERATE, LAYOUT, REGENERATE, SIGN };

static const char *const step_titles[EDIT_STEPS] = { "regenerating the shipped text",
						     "taking out what is hot",
						     "attaching counts",
						     "optimizing",
						     "generating code",
						     "laying out",
						     "generating code in the new order",
						     "signing" };

/* One module of the program on its way through the edit. */
struct unit {
	struct buffer restored; /* bitcode of the whole, where it had lost something; owned */
	struct buffer cold;	/* bitcode of the half that did not run; owned */
	struct name_set *moved; /* names that only the hot module defines now; owned */
	bool has_assembly;
	bool is_cut;
	bool keeps_base; /* its base object is linked again: all of it, or without what moved */
};

struct edit {
	const struct image *program;
	const struct profile *profile;
	const struct edit_options *options;
	struct morph_data *data;
	struct edit_report *report;
	struct unit *units;	  /* one per data->modules[] */
	struct heat *heat;	  /* which functions are compiled anew */
	LLVMModuleRef hot;	  /* all hot halves, linked */
	struct name_set *visible; /* names that something outside the hot module needs */
	const struct name_set *
		unproven; /* of the module that is being cut: functions whose code hangs on facts; borrowed */
	struct slots *slots;	 /* where the program keeps pointers to functions */
	struct link_map *known;	 /* what is in the shipped file, of which object */
	struct references names; /* of the shipped link */
	struct name_set *words;	 /* of the linker's options */
	struct buffer hot_bitcode;
	struct block_map *counted; /* of step 5's link: the hot code with its probes and counts */
	struct placement placement;
	double cpu_before;
};

static double cpu_seconds(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec +
			children.ru_stime.tv_sec) +
	       (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec + children.ru_utime.tv_usec +
			children.ru_stime.tv_usec) /
		       1e6;
}

const char *edit_step_title(size_t step)
{
	return step < EDIT_STEPS ? step_titles[step] : "";
}

static void step_begin(struct edit *edit, enum step step)
{
	edit->cpu_before = cpu_seconds();
	if (edit->options->on_step)
		edit->options->on_step(edit->options->userdata, (size_t)step);
}

static void step_end(struct edit *edit, enum step step)
{
	edit->report->cpu_s[step] += cpu_seconds() - edit->cpu_before;
}

static char *path_in(const struct edit *edit, char buffer[PATH_MAX], const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(buffer, PATH_MAX, "%s/", edit->options->directory);

	va_start(ap, fmt);
	vsnprintf(buffer + n, (size_t)(PATH_MAX - n), fmt, ap);
	va_end(ap);
	return buffer;
}

/* Step 2: is it hot? */
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

/* Makes names of the @i-th module unique in the program. */
static const char *unit_suffix(size_t i, char buffer[32])
{
	snprintf(buffer, 32, ".m%zu", i);
	return buffer;
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

static int generate(struct edit *edit, const struct codegen_input *inputs, size_t n, const char *const *more,
		    const char *prefix, struct fault *reterr);

static int proof_generate(const struct buffer bitcode[2], char path[2][PATH_MAX], void *user,
			  struct fault *reterr)
{
	struct edit *edit = user;
	const struct codegen_input inputs[] = { { "with facts", bitcode[0].data, bitcode[0].size },
						{ "without facts", bitcode[1].data, bitcode[1].size } };

	path_in(edit, path[0], "proof-0.o");
	path_in(edit, path[1], "proof-1.o");
	return generate(edit, inputs, ARRAY_SIZE(inputs), (const char *[]){ NULL }, "proof", reterr);
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
	edit->report->n_unproven += name_set_count(unproven);
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

/* Code is generated in children, which start with all of our memory: while they run, the hot module is there as bitcode only. */
static int hot_fold(struct edit *edit, struct fault *reterr)
{
	int r = ir_write(edit->hot, &edit->hot_bitcode);

	LLVMDisposeModule(edit->hot);
	edit->hot = NULL;
	malloc_trim(0);
	return r < 0 ? fault_errno(reterr, r, "writing IR") : 0;
}

static int hot_unfold(struct edit *edit, struct fault *reterr)
{
	int r = ir_parse(edit->hot_bitcode.data, edit->hot_bitcode.size, "hot", &edit->hot, reterr);

	buffer_done(&edit->hot_bitcode);
	return r;
}

static int module_parse(struct edit *edit, size_t i, LLVMModuleRef *ret, struct fault *reterr)
{
	const struct morph_module *shipped = &edit->data->modules[i];
	const struct buffer *restored = &edit->units[i].restored;

	return restored->size ? ir_parse(restored->data, restored->size, shipped->name, ret, reterr) :
				ir_parse(shipped->bitcode, shipped->size, shipped->name, ret, reterr);
}

/* Modules get back what they lost on their way into the shipped file. */
static int modules_restore(struct edit *edit, struct fault *reterr)
{
	int r = 0;

	for (size_t i = 0; i < edit->data->n_modules && r == 0; i++) {
		LLVMModuleRef module;

		r = module_parse(edit, i, &module, reterr);
		if (r < 0)
			return r;
		if (ir_restore_used(module) && ir_write(module, &edit->units[i].restored) < 0)
			r = fault_errno(reterr, -ENOMEM, "reading IR");
		LLVMDisposeModule(module);
	}
	return r;
}

static const char *base_name(size_t i, char buffer[32])
{
	snprintf(buffer, 32, "base-%zu.o", i);
	return buffer;
}

static int module_cut(struct edit *edit, size_t i, struct guid_table *guids, struct fault *reterr)
{
	LLVMModuleRef module;
	char object[32];
	int known, r = module_parse(edit, i, &module, reterr);

	if (r < 0)
		return r;
	buffer_done(&edit->units[i].restored);
	known = known_keep(module, base_name(i, object), edit->known, edit->names.contested, reterr);
	r = known < 0 ? known : guid_table_unify(guids, module);
	if (r == 0)
		r = slots_note(edit->slots, module);
	if (r == 0)
		return module_take(edit, i, module, known == 0, reterr);
	LLVMDisposeModule(module);
	return r;
}

static int modules_cut(struct edit *edit, struct fault *reterr)
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

/* LLVM options of every code generation, so that results can be linked with each other. */
static int generate(struct edit *edit, const struct codegen_input *inputs, size_t n, const char *const *more,
		    const char *prefix, struct fault *reterr)
{
	static const char *const always[] = { "-basic-block-address-map", "-function-sections",
					      "-data-sections" };
	struct codegen_options codegen = {
		.opt_level = edit->data->opt_level,
		.pic = edit->data->pic,
		.cpu = edit->data->cpu,
		.n_threads = edit->options->n_threads,
	};
	const char **options;
	size_t n_more = 0, at = 0;
	int r;

	while (more[n_more])
		n_more++;
	options = calloc(ARRAY_SIZE(always) + edit->data->n_options + n_more + 1, sizeof(*options));
	if (!options)
		return fault_errno(reterr, -ENOMEM, "generating code");
	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		options[at++] = always[i];
	for (size_t i = 0; i < edit->data->n_options; i++)
		options[at++] = edit->data->options[i];
	for (size_t i = 0; i < n_more; i++)
		options[at++] = more[i];
	codegen.options = options;
	r = codegen_run(inputs, n, &codegen, edit->options->directory, prefix, reterr);
	free(options);
	return r;
}

static int image_map(const char *path, struct image **retimage, struct block_map **retmap,
		     struct fault *reterr)
{
	int r = image_open(path, retimage, reterr);

	return r < 0 ? r : block_map_build(*retimage, retmap, reterr);
}

/* @retmap: which part of which object is in @out; NULL: not wanted */
static int link_objects(struct edit *edit, char **objects, const char *const *options, const char *out,
			struct link_map **retmap, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer said = { 0 };
	char path[PATH_MAX], map[PATH_MAX + 8];
	const char *all[16] = { "--no-demangle", "--print-icf-sections", map };
	struct relink relink = {
		.plan = edit->data->plan,
		.directory = edit->options->directory,
		.objects = (const char *const *)objects,
		.options = retmap ? all : options,
		.retsaid = &said,
	};
	int r;

	snprintf(map, sizeof(map), "--Map=%s", path_in(edit, path, "link.map"));
	for (size_t i = 0; options && options[i]; i++)
		all[3 + i] = options[i];
	r = relink_run(&relink, out, reterr);
	return r < 0 || !retmap ? r : link_map_read(path, (const char *)said.data, retmap, reterr);
}

/*
 * Step 1. All modules are generated as shipped; what did not run is linked again later.
 */
static int shipped_generate(struct edit *edit, struct fault *reterr)
{
	size_t n = edit->data->n_modules;
	struct codegen_input *inputs = calloc(n, sizeof(*inputs));
	char path[PATH_MAX];
	int r = inputs ? 0 : fault_errno(reterr, -ENOMEM, "generating the shipped code");

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct morph_module *m = &edit->data->modules[i];
		const struct buffer *restored = &edit->units[i].restored;

		inputs[i] = restored->size ?
				    (struct codegen_input){ m->name, restored->data, restored->size } :
				    (struct codegen_input){ m->name, m->bitcode, m->size };
	}
	if (r == 0)
		r = generate(edit, inputs, n, (const char *[]){ "-pgo-analysis-map=br-prob", NULL }, "base",
			     reterr);
	for (size_t i = 0; i < n && r == 0; i++)
		r = object_ungroup(path_in(edit, path, "base-%zu.o", i), reterr);
	free(inputs);
	return r;
}

static void objects_free(char **objects)
{
	for (char **o = objects; o && *o; o++)
		free(*o);
	free(objects);
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
		r = link_objects(edit, objects, (const char *const[]){ option, NULL }, out, &edit->known,
				 reterr);
	objects_free(objects);
	return r;
}

/* What the names stand for that the shipped code uses. */
static int names_collect(struct edit *edit, struct fault *reterr)
{
	char path[PATH_MAX], object[32];
	int r = symbols_of_options(edit->data->plan, edit->words);

	if (r < 0)
		return fault_errno(reterr, r, "collecting symbol names");
	for (size_t i = 0; i < edit->data->n_modules && r == 0; i++)
		r = references_collect(path_in(edit, path, "%s", base_name(i, object)), object, edit->known,
				       &edit->names, reterr);
	for (size_t i = 0; i < edit->data->plan->n_inputs && r == 0; i++) {
		snprintf(object, sizeof(object), "plan-%zu.o", i);
		if (edit->data->plan->inputs[i].kind == LINK_OBJECT)
			r = references_collect(path_in(edit, path, "%s", object), object, edit->known,
					       &edit->names, reterr);
	}
	return r;
}

static int shipped_compare(struct edit *edit, struct fault *reterr)
{
	_clean_(image_freep) struct image *again = NULL;
	_clean_(block_map_freep) struct block_map *map = NULL;
	char path[PATH_MAX];
	int r = shipped_link(edit, path_in(edit, path, "again"), reterr);

	if (r == 0)
		r = image_map(path, &again, &map, reterr);
	if (r == 0)
		r = block_map_make_unique(map);
	if (r == 0)
		r = trust_compare(edit->program, edit->data->map, again, map, &edit->report->trust, reterr);
	return r > 0 ? EDIT_UNTRUSTED : r;
}

/* What was generated of a module's cold half serves again, where its object can be had without the hot one. */
static int bases_take(struct edit *edit, struct fault *reterr)
{
	char path[PATH_MAX], suffix[32];

	for (size_t i = 0; i < edit->data->n_modules; i++) {
		struct unit *unit = &edit->units[i];
		int r;

		if (!unit->cold.size || unit->has_assembly)
			continue;
		r = object_give_away(path_in(edit, path, "base-%zu.o", i), unit->moved,
				     unit_suffix(i, suffix), edit->visible, reterr);
		if (r < 0 && r != -ENOTSUP)
			return r;
		unit->keeps_base = r == 0;
		edit->report->n_kept_objects += r == 0;
	}
	return 0;
}

static int trust(struct edit *edit, struct fault *reterr)
{
	struct fault *difference = &edit->report->difference;
	int r = plan_check(edit->data, reterr);

	if (r == 0)
		r = modules_restore(edit, reterr);
	if (r == 0)
		r = shipped_generate(edit, reterr);
	if (r < 0)
		return r;
	r = shipped_compare(edit, difference);
	if (r < 0)
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
	return names_collect(edit, reterr);
}

static int cut(struct edit *edit, struct fault *reterr)
{
	int r = modules_cut(edit, reterr);

	return r ? r : bases_take(edit, reterr);
}

/* The program's objects in link order, the hot one first. Owned by the caller. */
static char **objects_list(struct edit *edit, const char *hot)
{
	size_t n = edit->data->n_modules, at = 0, n_cold = 0;
	char **objects = calloc(n + 2, sizeof(*objects));
	bool ok = objects;

	ok = ok && asprintf(&objects[at++], "%s/%s-0.o", edit->options->directory, hot) >= 0;
	for (size_t i = 0; ok && i < n; i++) {
		if (edit->units[i].keeps_base)
			ok = asprintf(&objects[at++], "%s/base-%zu.o", edit->options->directory, i) >= 0;
		else if (edit->units[i].cold.size)
			ok = asprintf(&objects[at++], "%s/cut-%zu.o", edit->options->directory, ++n_cold) >=
			     0;
	}
	return ok ? objects : NULL;
}

/*
 * For code with counts. LLVM copies the dispatch of an interpreter to the end of each instruction's code only up to
 * 16 instructions, to save time on code that nobody runs; this code is known to run. Instructions chosen for size are slow ones, also
 * where the passes before have rightly kept code small (docs/decisions/0026-what-is-not-hot-stays-small.md).
 */
#define COUNTED_OPTIONS "-tail-dup-pred-size=512", "-tail-dup-succ-size=512", "-pgso=false"

/*
 * For code that has its order: LLVM pads loops by what stands before them, and its own ext-TSP order is nearest to ours. Without
 * it the padding is run through (gzip: 6 % more instructions); in an interpreter's thousand blocks there are few loops, and it takes
 * its time (lua5.4: 6 % of the edit). Blocks and their IDs are the same either way.
 */
#define LAST_OPTIONS "-enable-ext-tsp-block-placement", "-ext-tsp-block-placement-max-blocks=500"

/* Step 5: the hot module with its counts; cold halves as they were, where there is no base object to keep. */
static int cut_generate(struct edit *edit, struct fault *reterr)
{
	struct codegen_input *inputs = calloc(edit->data->n_modules + 1, sizeof(*inputs));
	const char *const more[] = { COUNTED_OPTIONS, "-pgo-analysis-map=all", NULL };
	size_t n = 0;
	int r;

	if (!inputs)
		return fault_errno(reterr, -ENOMEM, "generating code");
	inputs[n++] = (struct codegen_input){ "hot", edit->hot_bitcode.data, edit->hot_bitcode.size };
	for (size_t i = 0; i < edit->data->n_modules; i++)
		if (edit->units[i].cold.size && !edit->units[i].keeps_base)
			inputs[n++] =
				(struct codegen_input){ edit->data->modules[i].name, edit->units[i].cold.data,
							edit->units[i].cold.size };
	r = generate(edit, inputs, n, more, "cut", reterr);
	free(inputs);
	return r;
}

/* Step 6. */
static int lay_out(struct edit *edit, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	char **objects = objects_list(edit, "cut"), path[PATH_MAX];
	int r = objects ? 0 : fault_errno(reterr, -ENOMEM, "laying out");

	if (r == 0)
		r = link_objects(edit, objects, NULL, path_in(edit, path, "counted"), NULL, reterr);
	if (r == 0)
		r = image_map(path, &image, &edit->counted, reterr);
	if (r == 0)
		heat_count(edit->counted, edit->profile);
	if (r == 0)
		r = placement_make(image, edit->counted, &edit->placement, reterr);
	objects_free(objects);
	if (r < 0)
		return r;
	edit->report->n_laid_out = edit->placement.n_functions;
	edit->report->n_cold_blocks = edit->placement.n_cold_blocks;
	edit->report->score_before = edit->placement.score_before;
	edit->report->score_after = edit->placement.score_after;
	r = file_write(path_in(edit, path, "clusters.txt"), edit->placement.clusters.data,
		       edit->placement.clusters.size, 0600, reterr);
	if (r == 0)
		r = file_write(path_in(edit, path, "symbols.txt"), edit->placement.symbols.data,
			       edit->placement.symbols.size, 0600, reterr);
	return r;
}

/* Objects of this edit; what the linker makes itself is in none. */
static bool is_made(const char *part)
{
	return strncmp(part, "placed-", 7) == 0 || strncmp(part, "cut-", 4) == 0 ||
	       strncmp(part, "<internal>", 10) == 0;
}

/*
 * Step 7. LLVM 22 cannot write probes of a function that is in several sections (".sleb128 expression is
 * not absolute"), so they are hidden from it, and the generation's map takes them from step 5's.
 */
static int regenerate(struct edit *edit, const char *out, struct fault *reterr)
{
	struct codegen_input input = { "hot", edit->hot_bitcode.data, edit->hot_bitcode.size };
	char path[PATH_MAX], clusters[PATH_MAX + 32], order[PATH_MAX + 32], id[BUILD_ID_MAX_TEXT],
		build_id[96];
	const char *const more[] = { COUNTED_OPTIONS, LAST_OPTIONS, clusters, "-pgo-analysis-map=br-prob",
				     NULL };
	const char *const options[] = { order,	  "--no-warn-symbol-ordering",
					"-z",	  "keep-text-section-prefix",
					build_id, NULL };
	_clean_(link_map_freep) struct link_map *made = NULL;
	char **objects = objects_list(edit, "placed");
	int r = objects ? 0 : fault_errno(reterr, -ENOMEM, "linking");

	snprintf(clusters, sizeof(clusters), "-basic-block-sections=%s", path_in(edit, path, "clusters.txt"));
	snprintf(order, sizeof(order), "--symbol-ordering-file=%s", path_in(edit, path, "symbols.txt"));
	snprintf(build_id, sizeof(build_id), "--build-id=0x%s", build_id_text(&edit->report->build_id, id));
	if (r == 0)
		r = probes_hide(edit->hot_bitcode.data, edit->hot_bitcode.size, reterr);
	if (r == 0)
		r = generate(edit, &input, 1, more, "placed", reterr);
	if (r == 0)
		r = link_objects(edit, objects, options, out, &made, reterr);
	if (r == 0)
		r = link_map_compare(edit->known, made, is_made, reterr);
	for (char **o = objects; r == 0 && *o; o++)
		if (is_made(strrchr(*o, '/') + 1))
			r = references_check(*o, made, edit->names.used, edit->words, reterr);
	objects_free(objects);
	return r;
}

struct promotion {
	struct indirect *indirect;
	struct inlining *inlining;
};

static int promotion_note(LLVMBasicBlockRef block, uint64_t executions, void *user)
{
	const struct promotion *promotion = user;
	int r = inlining_note(block, executions, promotion->inlining);

	return r < 0 ? r : indirect_note(block, executions, promotion->indirect);
}

/* Calls that mostly go to one place call it directly; what they do then is counted with all the rest. */
static int promote(struct edit *edit, struct fault *reterr)
{
	_clean_(indirect_freep) struct indirect *indirect = indirect_new(edit->hot, edit->slots);
	_clean_(inlining_freep) struct inlining *inlining = inlining_new(edit->hot);
	struct promotion promotion = { indirect, inlining };
	int r = indirect && inlining ? 0 : -ENOMEM;

	if (r == 0)
		r = annotate_count(edit->hot, edit->profile, promotion_note, &promotion, reterr);
	if (r == 0)
		r = indirect_mark(indirect, inlining, &edit->report->indirect);
	if (r < 0)
		return fault_errno(reterr, r, "finding where calls through pointers go");
	return pipeline_promote(edit->hot, reterr);
}

struct counting {
	struct inlining *inlining;
	struct imports *imports;
};

static int counting_note(LLVMBasicBlockRef block, uint64_t executions, void *user)
{
	const struct counting *counting = user;
	int r = imports_note(counting->imports, block, executions);

	return r < 0 ? r : inlining_note(block, executions, counting->inlining);
}

/* Counts onto the IR; the calls they say are worth a copy, and those that leave the file. */
static int count(struct edit *edit, struct fault *reterr)
{
	_clean_(inlining_freep) struct inlining *inlining = inlining_new(edit->hot);
	_clean_(name_set_freep) struct name_set *names = name_set_new();
	_clean_(imports_freep) struct imports *imports = imports_new(edit->hot, names);
	struct counting counting = { inlining, imports };
	struct edit_report *report = edit->report;
	double room = 0;
	int r = inlining && names && imports ? symbols_imports(edit->program, names) : -ENOMEM;

	if (r == 0)
		r = room_find(edit->data->map, edit->profile, &room);
	if (r < 0)
		return fault_errno(reterr, r, "attaching the profile to the IR");
	r = annotate_module(edit->hot, edit->profile, counting_note, &counting, &report->counts, reterr);
	if (r < 0)
		return r;
	report->n_imports =
		imports_mark(imports, (double)report->counts.executions / fmax(edit->profile->samples, 1));
	r = inlining_choose(inlining, room, &report->inlining);
	return r < 0 ? fault_errno(reterr, r, "choosing calls to inline") : 0;
}

/* Step 3: the world is closed, so that nobody else calls what is not visible. */
static int annotate(struct edit *edit, struct fault *reterr)
{
	int r = hot_unfold(edit, reterr);

	if (r == 0 && !edit->options->trusts_facts)
		r = facts_strip(edit->hot, FACTS_TAKEN, reterr);
	if (r == 0 && !edit->options->trusts_facts)
		r = facts_rederive(edit->hot, reterr);
	if (r < 0)
		return r;
	ir_internalize(edit->hot, edit->visible);
	if (edit->options->cpu)
		host_retarget(edit->hot, edit->options->cpu,
			      edit->options->tune ? edit->options->tune : edit->options->cpu);
	if (!edit->options->layout_only)
		r = promote(edit, reterr);
	if (r < 0)
		return r;
	if (edit->options->layout_only)
		return annotate_module(edit->hot, edit->profile, NULL, NULL, &edit->report->counts, reterr);
	return count(edit, reterr);
}

static int optimize(struct edit *edit, struct fault *reterr)
{
	struct pipeline_options options = { .opt_level = MAX(edit->data->opt_level, 2u),
					    .cpu = edit->options->cpu };
	char path[PATH_MAX];
	int r = 0;

	if (!edit->options->layout_only)
		r = pipeline_run(edit->hot, &options, reterr);
	if (r == 0 && loops_align(edit->hot, edit->report->counts.executions, &edit->report->n_loops) < 0)
		r = fault_errno(reterr, -ENOMEM, "aligning loops");
	if (r == 0)
		r = hot_fold(edit, reterr);
	if (r == 0)
		r = file_write(path_in(edit, path, "hot.bc"), edit->hot_bitcode.data, edit->hot_bitcode.size,
			       0600, reterr);
	return r;
}

static int sign(struct edit *edit, char *path, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(block_map_freep) struct block_map *map = NULL;
	int r = image_map(path, &image, &map, reterr);

	if (r < 0)
		return r;
	if (block_map_adopt_probes(map, edit->counted) < 0)
		return fault_errno(reterr, -ENOMEM, "describing the generation");
	if (prediction_make(edit->program, edit->data->map, image, map, edit->heat, edit->profile,
			    &edit->report->before, &edit->report->after) < 0)
		return fault_errno(reterr, -ENOMEM, "predicting the gain");
	edit->report->text_after = generation_text_bytes(image);
	return generation_sign(path, map, edit->data, edit->report, reterr);
}

static int steps_run(struct edit *edit, char *retpath, struct fault *reterr)
{
	int r;

#define STEP(step, call)                \
	do {                            \
		step_begin(edit, step); \
		r = (call);             \
		step_end(edit, step);   \
		if (r != 0)             \
			return r;       \
	} while (0)

	STEP(TRUST, trust(edit, reterr));
	STEP(CUT, cut(edit, reterr));
	STEP(ANNOTATE, annotate(edit, reterr));
	STEP(OPTIMIZE, optimize(edit, reterr));
	STEP(GENERATE, cut_generate(edit, reterr));
	STEP(LAYOUT, lay_out(edit, reterr));
	STEP(REGENERATE, regenerate(edit, path_in(edit, retpath, "out"), reterr));
	STEP(SIGN, sign(edit, retpath, reterr));
#undef STEP
	return 0;
}

static void edit_done(struct edit *edit)
{
	for (size_t i = 0; edit->units && i < edit->data->n_modules; i++) {
		buffer_done(&edit->units[i].restored);
		buffer_done(&edit->units[i].cold);
		name_set_free(edit->units[i].moved);
	}
	free(edit->units);
	if (edit->hot)
		LLVMDisposeModule(edit->hot);
	heat_free(edit->heat);
	name_set_free(edit->visible);
	slots_free(edit->slots);
	link_map_free(edit->known);
	name_set_free(edit->names.used);
	name_set_free(edit->names.defined);
	name_set_free(edit->names.contested);
	name_set_free(edit->words);
	buffer_done(&edit->hot_bitcode);
	block_map_free(edit->counted);
	placement_done(&edit->placement);
	morph_data_free(edit->data);
}

int edit_run(const struct image *program, const struct profile *profile, const struct edit_options *options,
	     char *retpath, struct edit_report *ret, struct fault *reterr)
{
	struct edit_options resolved = *options;
	struct edit edit = { .program = program, .profile = profile, .options = &resolved, .report = ret };
	_clean_(freep) char *cpu = NULL, *tune = NULL;
	struct rusage usage;
	int r;

	*ret = (struct edit_report){ 0 };
	if (options->cpu && strcmp(options->cpu, "native") == 0) {
		resolved.cpu = cpu = host_cpu();
		tune = host_tune();
		resolved.tune = options->tune ? options->tune : tune;
		if (!cpu || !tune)
			return fault_errno(reterr, -ENOMEM, "starting the edit");
	}
	pipeline_init();
	r = morph_data_load(program, options->sidecar_dir, &edit.data, reterr);
	if (r == 0 && !build_id_is_equal(&edit.data->build_id, &profile->build_id))
		r = fault_set(reterr, -EXDEV,
			      "%s: the profile is of another build; make one with `morph profile`",
			      image_path(program));
	if (r == 0 && edit.data->origin.size)
		r = fault_set(reterr, -ENODATA,
			      "%s: a generation, without IR; edit the shipped file it was made from",
			      image_path(program));
	if (r == 0 && edit.data->selftest &&
	    snprintf(ret->selftest, sizeof(ret->selftest), "%s", edit.data->selftest) >=
		    (int)sizeof(ret->selftest))
		r = fault_set(reterr, -E2BIG, "%s: its self-test is a command of more than %zu bytes",
			      image_path(program), sizeof(ret->selftest) - 1);
	if (r == 0) {
		r = morph_data_unpack(edit.data, reterr);
		r = r < 0 ? fault_prefix(reterr, r, "%s", image_path(program)) : 0;
	}
	if (r == 0) {
		edit.units = calloc(edit.data->n_modules + 1, sizeof(*edit.units));
		edit.visible = name_set_new();
		edit.slots = slots_new();
		edit.names = (struct references){ name_set_new(), name_set_new(), name_set_new() };
		edit.words = name_set_new();
		edit.heat = heat_new(edit.data->map, profile);
		r = edit.units && edit.visible && edit.slots && edit.names.used && edit.names.defined &&
				    edit.names.contested && edit.words && edit.heat ?
			    0 :
			    fault_errno(reterr, -ENOMEM, "starting the edit");
	}
	if (r == 0)
		r = generation_identify(program, edit.data, profile, &resolved, ret, reterr);
	if (r == 0)
		r = steps_run(&edit, retpath, reterr);
	getrusage(RUSAGE_CHILDREN, &usage);
	ret->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
	getrusage(RUSAGE_SELF, &usage);
	ret->peak_bytes = MAX(ret->peak_bytes, (uint64_t)usage.ru_maxrss * 1024);
	edit_done(&edit);
	return r;
}
