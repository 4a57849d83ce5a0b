/* SPDX-License-Identifier: Apache-2.0 */

/* Figures 4 and 7 of the DCPI paper, on today's machines: a procedure's stalls, then its blocks with their instructions. */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/table.h"
#include "base/text.h"
#include "cli/annotate/view.h"
#include "cli/shared/demangle.h"
#include "profiles/store/profile.h"

#define WORTH_SAYING 0.05  /* of an instruction's time */
#define WORTH_A_LINE 0.005 /* of a function's */
#define CULPRITS_TEXT_BYTES 256

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* How counts got their scale, and how far that goes. */
static const char *scale_sentence(const struct analysis *analysis)
{
	switch (analysis->cycles.scale) {
	case CYCLES_ANCHORED: return "executions are scaled by the count that was given";
	case CYCLES_BEST_CASE:
		return "no count is known: executions are scaled so that the least stalled tenth of the time "
		       "runs at its best case; in truth they may be half or three times as many; "
		       "--count gives a true one";
	default: return "executions are not known: no block with enough samples";
	}
}

/* "data-cache 93 %", "data-cache or page-fault up to 90 %": of one instruction; "" for none. */
static const char *culprits_text(const struct cycles_insn *insn, char ret[CULPRITS_TEXT_BYTES])
{
	size_t n = 0;
	bool first = true;

	ret[0] = '\0';
	for (unsigned k = CULPRIT_EXECUTION + 1; k < CULPRIT_END; k++)
		if (insn->shares[k] >= WORTH_SAYING && n < CULPRITS_TEXT_BYTES)
			n += (size_t)snprintf(ret + n, CULPRITS_TEXT_BYTES - n, "%s%s %.0f %%", n ? ", " : "",
					      culprit_name(k), 100 * insn->shares[k]);
	for (unsigned k = 0; k < CULPRIT_END && insn->may >= WORTH_SAYING && n < CULPRITS_TEXT_BYTES; k++)
		if (insn->suspects & (1u << k)) {
			n += (size_t)snprintf(ret + n, CULPRITS_TEXT_BYTES - n, "%s%s",
					      !first ? " or " :
					      n	     ? ", " :
						       "",
					      culprit_name(k));
			first = false;
		}
	if (!first && n < CULPRITS_TEXT_BYTES)
		snprintf(ret + n, CULPRITS_TEXT_BYTES - n, " %.0f %%", 100 * insn->may);
	return ret;
}

static void head_print(const struct annotate_view *view)
{
	const struct analysis *a = view->analysis;
	char id[BUILD_ID_MAX_TEXT];

	printf("program     %s, build %s\n", SHOWN(image_path(a->image)),
	       image_build_id(a->image)->size ? build_id_text(image_build_id(a->image), id) : "unknown");
	printf("samples     %" PRIu64 " of it, %.0f in code that was read; %.0f a second of running\n",
	       a->module->total, a->cycles.code.mapped, a->log->rate_hz);
	printf("clock       %.2f GHz, %s\n", a->clock_hz / 1e9,
	       a->is_clock_measured ? "measured now" : "as told");
	printf("blocks      %s\n", a->is_recovered ? "read from the code; the file carries no map" :
						     "from the map that the file carries");
	printf("executions  %s\n", scale_sentence(a));
	if (analysis_elsewhere(a))
		printf("elsewhere   more samples, %" PRIu64 ", are of %s\n", analysis_elsewhere(a)->total,
		       SHOWN(analysis_elsewhere(a)->path));
	if (a->left.n_functions)
		printf("left out    %zu functions with %.0f samples: more code than is analysed at once\n",
		       a->left.n_functions, a->left.weight);
	puts("");
}

/* "37 %", "12 .. 40 %" */
static void range_cell(struct table *table, double least, double most)
{
	if (100 * (most - least) < 0.5)
		table_cell(table, "%.0f %%", 100 * most);
	else
		table_cell(table, "%.0f .. %.0f %%", 100 * least, 100 * most);
}

static int functions_print(const struct annotate_view *view)
{
	_clean_(table_freep) struct table *table = table_new(
		"function|>samples|>share|>execution|>dependency, unit|most likely stall|>of its time");
	const struct analysis *a = view->analysis;

	for (size_t i = 0; table && i < MIN(view->n_functions, view->n_shown); i++) {
		const struct cycles_summary *s = &view->functions[i].summary;
		char name[ANALYSED_NAME_BYTES];
		unsigned worst = CULPRIT_DATA;

		for (unsigned k = CULPRIT_DATA; k < CULPRIT_END; k++)
			if (s->least[k] + s->most[k] > s->least[worst] + s->most[worst])
				worst = k;
		table_cell(table, "%s", demangled(analysed_name(view->functions[i].function, name)));
		table_cell(table, "%.0f", view->functions[i].fell);
		table_cell(table, "%.1f %%", percent(view->functions[i].fell, (double)a->module->total));
		table_cell(table, "%.0f %%", 100 * s->least[CULPRIT_EXECUTION]);
		table_cell(table, "%.0f %%", 100 * (s->least[CULPRIT_DEPENDENCY] + s->least[CULPRIT_UNIT]));
		table_cell(table, "%s", s->most[worst] > 0 ? culprit_name(worst) : "none");
		range_cell(table, s->least[worst], s->most[worst]);
	}
	return table ? table_print(table, stdout) : -ENOMEM;
}

static int summary_print(const struct analysed_function *f)
{
	_clean_(table_freep) struct table *table = table_new("where the time went|>share|");

	for (unsigned k = 0; table && k < CULPRIT_END; k++) {
		if (!(f->summary.most[k] >= WORTH_A_LINE))
			continue;
		table_cell(table, "%s", culprit_name(k));
		range_cell(table, f->summary.least[k], f->summary.most[k]);
		table_cell(table, "%s", culprit_title(k));
	}
	return table ? table_print(table, stdout) : -ENOMEM;
}

static void cycles_cell(struct table *table, double cycles)
{
	if (isnan(cycles))
		table_cell(table, "?");
	else
		table_cell(table, "%.1f", cycles);
}

static void insn_row(struct table *table, const struct annotate_view *view, uint32_t i, uint64_t address)
{
	const struct cycles *c = &view->analysis->cycles;
	const struct insn *insn = &c->code.insns[i];
	const uint8_t *code = image_code(view->analysis->image, address, insn->size);
	char text[INSN_TEXT_BYTES], culprits[CULPRITS_TEXT_BYTES];

	table_cell(table, "%.0f", c->code.samples[i]);
	cycles_cell(table, c->insns[i].cycles);
	table_cell(table, "%.1f", c->insns[i].best);
	table_cell(table, "%" PRIx64, address);
	table_cell(table, "%s",
		   code ? insn_text(image_machine(view->analysis->image), code, insn->size, address, text) :
			  "(no bytes)");
	table_cell(table, "%s", c->insns[i].samples > 0 ? culprits_text(&c->insns[i], culprits) : "");
}

/* "one.c:8", "mix, one.c:8" where mix was inlined; where it is the line of the row before, nothing. */
static void line_cell(struct table *table, const struct annotate_view *view, uint64_t address,
		      uint64_t before)
{
	const char *file, *inlined, *file_before, *inlined_before, *slash;
	uint32_t line, line_before;

	if (!annotate_line(view, address, &file, &line, &inlined)) {
		table_cell(table, "?");
		return;
	}
	if (before && annotate_line(view, before, &file_before, &line_before, &inlined_before) &&
	    file == file_before && line == line_before && inlined == inlined_before) {
		table_cell(table, "%s", "");
		return;
	}
	slash = strrchr(file, '/');
	table_cell(table, "%s%s%s:%" PRIu32, inlined ? inlined : "", inlined ? ", " : "",
		   slash ? slash + 1 : file, line);
}

static void block_head_print(const struct annotate_view *view, uint32_t b, uint32_t first)
{
	const struct cycles *c = &view->analysis->cycles;
	const struct block *block = &c->code.map->blocks[b];
	double best, cycles = cycles_block(c, b, &best);

	printf("\nblock %u at 0x%" PRIx64 ": ", b - first, block->address);
	if (c->scale == CYCLES_UNKNOWN)
		printf("executions unknown");
	else
		printf("%.3g executions (+-%.0f %%)", c->estimate.blocks[b],
		       100 * profile_error(c->estimate.confidence[b]));
	if (!isnan(cycles))
		printf(", %.1f cycles each, best case %.1f", cycles, best);
	if (c->code.blocks[b].n_insns && !isnan(cycles))
		printf("; %.2f cycles per instruction, best case %.2f", cycles / c->code.blocks[b].n_insns,
		       best / c->code.blocks[b].n_insns);
	for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
		printf("%s %u", e == block->first_edge ? "; to" : ",", c->code.map->edges[e].target - first);
	if (block->flags & BLOCK_JUMPS_INDIRECT)
		printf("; an indirect jump: %s",
		       block->n_edges ? "where it was seen to go" : "where to is not known");
	putchar('\n');
}

static int block_print(const struct annotate_view *view, uint32_t b, uint32_t first)
{
	_clean_(table_freep) struct table *table =
		table_new(view->source ? ">samples|>cycles|>best|>address|instruction|waits for|line" :
					 ">samples|>cycles|>best|>address|instruction|waits for");
	const struct cycles *c = &view->analysis->cycles;
	const struct code_block *block = &c->code.blocks[b];
	uint64_t address = c->code.map->blocks[b].address, before = 0;

	if (!table)
		return -ENOMEM;
	block_head_print(view, b, first);
	for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++) {
		insn_row(table, view, i, address);
		if (view->source)
			line_cell(table, view, address, before);
		before = address;
		address += c->code.insns[i].size;
	}
	return table_print(table, stdout);
}

static int function_print(const struct annotate_view *view)
{
	const struct block_function *f = view->chosen->function;
	const struct cycles *c = &view->analysis->cycles;
	char name[ANALYSED_NAME_BYTES];
	uint32_t left_out = 0;
	int r;

	printf("%s: %.0f samples, %.1f %% of the program's, %.3g cycles\n\n",
	       SHOWN(demangled(analysed_name(f, name))), view->chosen->fell,
	       percent(view->chosen->fell, (double)view->analysis->module->total),
	       view->chosen->summary.cycles);
	r = summary_print(view->chosen);
	for (uint32_t b = f->first_block; r == 0 && b < f->first_block + f->n_blocks; b++) {
		double charged = 0;

		for (uint32_t i = 0; i < c->code.blocks[b].n_insns; i++)
			charged += c->insns[c->code.blocks[b].first_insn + i].samples;
		if (!view->all_blocks && !(c->code.blocks[b].samples + charged > 0))
			left_out++;
		else
			r = block_print(view, b, f->first_block);
	}
	if (left_out)
		printf("\n%u blocks without samples are left out; --all shows them\n", left_out);
	return r;
}

int annotate_text(const struct annotate_view *view)
{
	head_print(view);
	return view->chosen ? function_print(view) : functions_print(view);
}
