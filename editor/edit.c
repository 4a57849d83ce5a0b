/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/edit.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "editor/code/codegen.h"
#include "editor/code/host.h"
#include "editor/code/pipeline.h"
#include "editor/steps/differences.h"
#include "editor/steps/generation.h"
#include "editor/steps/objects.h"
#include "editor/steps/recall.h"
#include "editor/steps/state.h"

/*
 * The whole edit, from top to bottom: one line a pass, pass_NAME() of a file in editor/steps/. A new one is its file and its
 * line, and its name in morph-optimize(1).
 *
 *	step, name, when, what it does
 */
// clang-format off: a table
#define PASSES(pass) \
	pass(TRUST, plan, ALWAYS, "the link plan holds only what is known") \
	pass(TRUST, restore, ALWAYS, "modules get back what packing took from them") \
	pass(TRUST, regenerate, ALWAYS, "the code of all modules as shipped") \
	pass(TRUST, compare, ALWAYS, "linked as shipped it is the shipped file, byte for byte") \
	pass(TRUST, names, ALWAYS, "what the names stand for that the shipped code uses") \
	pass(CUT, environment, ALWAYS, "no code depends on floating-point exceptions and rounding") \
	pass(CUT, cut, ALWAYS, "hot functions leave their modules for one of their own") \
	pass(CUT, keep, ALWAYS, "shipped code of what is not hot is kept") \
	pass(ANNOTATE, unfold, ALWAYS, "the hot module is read") \
	pass(ANNOTATE, facts, IF_DOUBTED, "what the IR merely claims is taken away") \
	pass(ANNOTATE, close, ALWAYS, "nobody else calls what nothing outside names") \
	pass(ANNOTATE, retarget, IF_RETARGETED, "code for this machine's CPU") \
	pass(ANNOTATE, promote, IF_GUIDED, "calls through pointers that mostly go to one place call it directly") \
	pass(ANNOTATE, counts, ALWAYS, "counts; calls that are worth a copy; calls that leave the file") \
	pass(OPTIMIZE, optimize, IF_GUIDED, "LLVM's passes, guided by the counts") \
	pass(OPTIMIZE, recount, IF_GUIDED, "counts are found anew for the code as it is now") \
	pass(OPTIMIZE, loops, IF_WANTED, "hot loops start a line of the cache") \
	pass(OPTIMIZE, fold, ALWAYS, "the hot module is written") \
	pass(GENERATE, generate, ALWAYS, "code with its counts") \
	pass(GENERATE, dispatch, ALWAYS, "an interpreter's dispatch is shared, where copies of it cost more") \
	pass(LAYOUT, layout, ALWAYS, "an order of blocks and functions") \
	pass(REGENERATE, place, ALWAYS, "code in that order, linked") \
	pass(SIGN, sign, ALWAYS, "build ID, note, block map; what it is predicted to gain")
// clang-format on

/* Blocks of at least this size go back to the system when they are freed. glibc would raise this bound, and keep them. */
#define LARGE_BYTES (256 << 10)

enum step { TRUST, CUT, ANNOTATE, OPTIMIZE, GENERATE, LAYOUT, REGENERATE, SIGN };

static const struct {
	const char *name, *title;
} steps[EDIT_STEPS] = {
	[TRUST] = { "trust", "regenerating the shipped text" },
	[CUT] = { "cut", "taking out what is hot" },
	[ANNOTATE] = { "annotate", "attaching counts" },
	[OPTIMIZE] = { "optimize", "optimizing" },
	[GENERATE] = { "generate", "generating code" },
	[LAYOUT] = { "layout", "laying out" },
	[REGENERATE] = { "regenerate", "generating code in the new order" },
	[SIGN] = { "sign", "signing" },
};

/* IF_GUIDED and IF_WANTED can be left out: nothing hangs on them but speed. */
enum when { ALWAYS, IF_DOUBTED, IF_RETARGETED, IF_GUIDED, IF_WANTED };

struct pass {
	int (*run)(struct edit *edit, struct fault *reterr);
	enum step step;
	enum when when;
	const char *name, *title;
};

#define DECLARATION(step, name, when, title) int pass_##name(struct edit *edit, struct fault *reterr);
#define ROW(step, name, when, title) { pass_##name, step, when, #name, title },

PASSES(DECLARATION)
static const struct pass passes[] = { PASSES(ROW) };

static_assert(ARRAY_SIZE(passes) <= EDIT_PASSES_MAX, "the report has room for each pass");

static bool is_optional(const struct pass *pass)
{
	return pass->when == IF_GUIDED || pass->when == IF_WANTED;
}

static bool is_wanted(const struct pass *pass, const struct edit_options *options)
{
	if (is_optional(pass) && options->passes_off >> (pass - passes) & 1)
		return false;
	switch (pass->when) {
	case IF_DOUBTED: return !options->trusts_facts;
	case IF_RETARGETED: return options->cpu;
	case IF_GUIDED: return !options->layout_only;
	default: return true;
	}
}

static double cpu_seconds(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return rusage_s(&self) + rusage_s(&children) + codegen_spent().cpu_s;
}

static int pass_run(struct edit *edit, size_t i, struct fault *reterr)
{
	double before = cpu_seconds();
	int r = passes[i].run(edit, reterr);

	malloc_trim(0); /* or the next pass would add to what this one freed */
	edit->report->cpu_s[i] = cpu_seconds() - before;
	edit->report->passes_run |= UINT64_C(1) << i;
	return r;
}

static int passes_run(struct edit *edit, struct fault *reterr)
{
	const struct edit_options *options = edit->options;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(passes) && r == 0; i++) {
		bool begins = i == 0 || passes[i].step != passes[i - 1].step;

		if (options->checks_only && passes[i].step != TRUST)
			break;
		if (begins && options->on_step)
			options->on_step(options->userdata, passes[i].step);
		if (is_wanted(&passes[i], options))
			r = pass_run(edit, i, reterr);
	}
	return r;
}

const char *edit_step_name(size_t step)
{
	return step < EDIT_STEPS ? steps[step].name : NULL;
}

const char *edit_step_title(size_t step)
{
	return step < EDIT_STEPS ? steps[step].title : "";
}

bool edit_pass_at(size_t i, struct edit_pass *ret)
{
	if (i >= ARRAY_SIZE(passes))
		return false;
	*ret = (struct edit_pass){ passes[i].name, passes[i].title, passes[i].step, is_optional(&passes[i]) };
	return true;
}

static void without_name(const struct edit_options *options, struct edit_report *report)
{
	char *to = report->without;
	size_t left = sizeof(report->without);

	for (size_t i = 0; i < ARRAY_SIZE(passes); i++) {
		int n = options->passes_off >> i & 1 ?
				snprintf(to, left, "%s%s", to == report->without ? "" : " ", passes[i].name) :
				0;

		to += MIN((size_t)n, left - 1);
		left -= MIN((size_t)n, left - 1);
	}
}

/* What forks for code generation comes first: it is to be small (codegen.h). */
static int edit_begin(struct edit *edit, struct fault *reterr)
{
	int r;

	pipeline_init();
	r = codegen_begin(reterr);
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES); /* not of its children, which end soon */
	return r < 0 ? r : edit_init(edit, reterr);
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
	without_name(options, ret);
	if (options->cpu && strcmp(options->cpu, "native") == 0) {
		resolved.cpu = cpu = host_cpu();
		tune = host_tune();
		resolved.tune = options->tune ? options->tune : tune;
		if (!cpu || !tune)
			return fault_errno(reterr, -ENOMEM, "starting the edit");
	}
	r = edit_begin(&edit, reterr);
	if (r == 0)
		r = generation_identify(program, edit.data, profile, &resolved, ret, reterr);
	if (r == 0)
		r = passes_run(&edit, reterr);
	if (r == 0)
		r = recall_end(&edit, reterr);
	memcpy(retpath, edit.out, sizeof(edit.out));
	getrusage(RUSAGE_CHILDREN, &usage);
	ret->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
	getrusage(RUSAGE_SELF, &usage);
	ret->peak_bytes = MAX(ret->peak_bytes, (uint64_t)usage.ru_maxrss * 1024);
	ret->peak_bytes = MAX(ret->peak_bytes, codegen_spent().peak_bytes);
	edit_done(&edit);
	return r;
}

int edit_check(const struct image *program, const struct edit_options *options, char *retpath,
	       struct edit_report *ret, struct fault *reterr)
{
	struct edit_options checks = *options;
	struct edit edit = { .program = program, .options = &checks, .report = ret };
	int r;

	*ret = (struct edit_report){ 0 };
	checks.checks_only = true;
	r = edit_begin(&edit, reterr);
	if (r == 0)
		r = passes_run(&edit, reterr);
	if (r == EDIT_UNTRUSTED)
		edit_path(&edit, retpath, "%s", EDIT_DIFFERENCES);
	edit_done(&edit);
	return r;
}
