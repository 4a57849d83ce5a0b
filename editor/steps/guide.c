/* SPDX-License-Identifier: Apache-2.0 */

/* Counts onto the hot module, and what they say of its calls. */

#include <errno.h>
#include <math.h>

#include "editor/code/imports.h"
#include "editor/code/pipeline.h"
#include "editor/count/indirect.h"
#include "editor/count/inlining.h"
#include "editor/count/room.h"
#include "editor/ir/symbols.h"
#include "editor/steps/state.h"

/* More room is for copies that save less: with the price as it is, few programs would have a use for it. */
static double copies_price(const struct edit *edit)
{
	return INLINING_PRICE / (edit->options->limits_copies ? fmax(edit->options->copies, 1) : 1);
}

/* Calls that mostly go to one place call it directly; what they do then is counted with all the rest. */
int pass_promote(struct edit *edit, struct fault *reterr)
{
	_clean_(indirect_freep) struct indirect *indirect = indirect_new(edit->hot, edit->slots);
	_clean_(inlining_freep) struct inlining *inlining = inlining_new(edit->hot, copies_price(edit));
	const struct annotate_visitor visitors[] = { { inlining_note, inlining },
						     { indirect_note, indirect },
						     { NULL } };
	int r = indirect && inlining ? 0 : -ENOMEM;

	if (r == 0)
		r = annotate_count(edit->hot, edit->profile, visitors, reterr);
	if (r == 0)
		r = indirect_mark(indirect, inlining, &edit->report->indirect);
	if (r < 0)
		return fault_errno(reterr, r, "finding where calls through pointers go");
	return pipeline_promote(edit->hot, reterr);
}

/* Counts onto the IR; the calls they say are worth a copy, and those that leave the file. */
static int calls_count(struct edit *edit, struct fault *reterr)
{
	_clean_(inlining_freep) struct inlining *inlining = inlining_new(edit->hot, copies_price(edit));
	_clean_(name_set_freep) struct name_set *names = name_set_new();
	_clean_(imports_freep) struct imports *imports = imports_new(edit->hot, names);
	const struct annotate_visitor visitors[] = { { imports_note, imports },
						     { inlining_note, inlining },
						     { NULL } };
	struct edit_report *report = edit->report;
	double room = 0;
	int r = inlining && names && imports ? symbols_imports(edit->program, names) : -ENOMEM;

	if (r == 0)
		r = room_find(edit->data->map, edit->profile, &room);
	if (r < 0)
		return fault_errno(reterr, r, "attaching the profile to the IR");
	r = annotate_module(edit->hot, edit->profile, visitors, &report->counts, reterr);
	if (r < 0)
		return r;
	report->n_imports =
		imports_mark(imports, (double)report->counts.executions / fmax(edit->profile->samples, 1));
	room *= ROOM_TIMES * (edit->options->limits_copies ? edit->options->copies : 1);
	r = inlining_choose(inlining, room, &report->inlining);
	return r < 0 ? fault_errno(reterr, r, "choosing calls to inline") : 0;
}

int pass_counts(struct edit *edit, struct fault *reterr)
{
	if (edit->options->layout_only)
		return annotate_module(edit->hot, edit->profile, NULL, &edit->report->counts, reterr);
	return calls_count(edit, reterr);
}
