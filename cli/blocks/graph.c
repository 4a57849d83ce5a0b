/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A function in the language of dot(1): a box for each block, the warmer the more of the function's time it has; an edge is
 * the thicker the more often it was gone. Names are foreign: within a quoted label a backslash, a quotation mark and an
 * ampersand (dot knows HTML's references) are escaped, and control characters are (text.h). dot gets a file of our own
 * making, as a process with a time limit, and what it draws is taken only if it ended well.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/child.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/blocks/blocks.h"
#include "cli/shared/demangle.h"

#define DOT_TIMEOUT_S 60u
#define INSNS_SHOWN 24u
#define WHOLE_LINE_BYTES 96u

struct graph {
	const struct blocks_view *view;
	const struct told_block *blocks; /* hottest first */
	size_t n, n_shown;
	bool *shown; /* owned; by place in the function */
	struct buffer *out;
};

/* Within quotation marks. */
static void text_put(struct buffer *out, const char *text)
{
	_clean_(freep) char *plain = text_escaped(text);

	if (!plain)
		out->bad = true;
	for (const char *at = plain; at && *at; at++) {
		if (*at == '&')
			buffer_printf(out, "&amp;");
		else if (*at == '"' || *at == '\\')
			buffer_printf(out, "\\%c", *at);
		else
			buffer_u8(out, (uint8_t)*at);
	}
}

static uint32_t place_of(const struct graph *g, uint32_t block)
{
	return block - g->view->chosen->function->first_block;
}

static void insns_put(const struct graph *g, const struct told_block *block)
{
	const struct analysis *a = g->view->analysis;
	const struct code_block *code = &a->cycles.code.blocks[block->index];
	uint64_t address = a->map->blocks[block->index].address;

	for (uint32_t i = 0; i < code->n_insns; i++) {
		const struct cycles_insn *insn = &a->cycles.insns[code->first_insn + i];
		char text[TOLD_INSN_BYTES], line[WHOLE_LINE_BYTES + 48];

		if (i == INSNS_SHOWN) {
			buffer_printf(g->out, "... %u more\\l", code->n_insns - i);
			break;
		}
		told_text(a, code->first_insn + i, address, text);
		if (isnan(insn->cycles))
			snprintf(line, sizeof(line), "%6s  %.*s", "", WHOLE_LINE_BYTES, text);
		else
			snprintf(line, sizeof(line), "%6.1f  %.*s", insn->cycles, WHOLE_LINE_BYTES, text);
		text_put(g->out, line);
		buffer_printf(g->out, "\\l");
		address += a->cycles.code.insns[code->first_insn + i].size;
	}
}

/* The instruction that has most of the block's time, and what it waits for. */
static void waits_put(const struct graph *g, const struct told_block *block)
{
	const struct cycles *c = &g->view->analysis->cycles;
	const struct code_block *code = &c->code.blocks[block->index];
	const struct cycles_insn *most = NULL;
	char waits[WAITS_BYTES];

	for (uint32_t i = 0; i < code->n_insns; i++)
		if (!most || c->insns[code->first_insn + i].samples > most->samples)
			most = &c->insns[code->first_insn + i];
	if (most && most->samples > 0 && told_waits(most, waits)[0])
		buffer_printf(g->out, "\\n%s", waits);
}

/* Hue from yellow to red, the stronger the hotter. */
static void node_put(const struct graph *g, const struct told_block *block)
{
	const struct block *b = &g->view->analysis->map->blocks[block->index];

	buffer_printf(g->out, "\tb%u [label=\"block %u, 0x%" PRIx64 "\\n", place_of(g, block->index),
		      place_of(g, block->index), b->address);
	if (isnan(block->executions))
		buffer_printf(g->out, "executions unknown");
	else
		buffer_printf(g->out, "%.3g executions", block->executions);
	if (!isnan(block->cycles)) {
		buffer_printf(g->out, "\\n%.1f cycles, best %.1f", block->cycles, block->best);
		if (block->n_insns)
			buffer_printf(g->out, "; CPI %.2f", block->cycles / block->n_insns);
	}
	buffer_printf(g->out, "\\n%.1f %% of the time", 100 * block->share);
	waits_put(g, block);
	if (g->view->instructions && block->n_insns) {
		buffer_printf(g->out, "\\n\\n");
		insns_put(g, block);
	}
	buffer_printf(g->out, "\", fillcolor=\"%.3f %.3f 1.0\"];\n", 0.14 * (1 - MIN(block->share * 2, 1)),
		      0.05 + 0.6 * sqrt(block->share));
}

static void edges_put(const struct graph *g)
{
	const struct analysis *a = g->view->analysis;
	const struct block_function *f = g->view->chosen->function;
	double most = 0;

	for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++)
		for (uint32_t e = a->map->blocks[b].first_edge;
		     a->cycles.estimate.edges && e < a->map->blocks[b].first_edge + a->map->blocks[b].n_edges;
		     e++)
			most = MAX(most, a->cycles.estimate.edges[e]);
	for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++) {
		const struct block *block = &a->map->blocks[b];

		for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++) {
			uint32_t target = a->map->edges[e].target;
			double times = a->cycles.estimate.edges ? a->cycles.estimate.edges[e] : NAN;

			if (!g->shown[place_of(g, b)] || !g->shown[place_of(g, target)])
				continue;
			buffer_printf(g->out, "\tb%u -> b%u", place_of(g, b), place_of(g, target));
			if (!isnan(times) && a->cycles.scale != CYCLES_UNKNOWN && most > 0)
				buffer_printf(g->out, " [label=\"%.3g\", penwidth=%.2f]", times,
					      0.4 + 3.6 * times / most);
			buffer_printf(g->out, ";\n");
		}
	}
}

static void graph_put(const struct graph *g)
{
	const struct analysed_function *chosen = g->view->chosen;
	const struct analysis *a = g->view->analysis;
	char name[ANALYSED_NAME_BYTES];

	buffer_printf(g->out,
		      "digraph blocks {\n\tgraph [bgcolor=white, fontname=\"sans-serif\", fontsize=13, "
		      "labelloc=t, labeljust=l, label=\"");
	text_put(g->out, demangled(analysed_name(chosen->function, name)));
	buffer_printf(g->out, " of ");
	text_put(g->out, image_path(a->image));
	buffer_printf(g->out, ": %.0f samples, %.1f %% of the program's\\l", chosen->fell,
		      a->module->total ? 100 * chosen->fell / (double)a->module->total : 0);
	if (g->n > g->n_shown)
		buffer_printf(g->out,
			      "%zu blocks with less time are left out; --limit says how many are drawn\\l",
			      g->n - g->n_shown);
	buffer_printf(
		g->out,
		"\"];\n\tnode [shape=box, style=filled, color=\"#5b636d\", fontname=\"%s\", fontsize=10];\n"
		"\tedge [fontname=\"sans-serif\", fontsize=9, color=\"#5b636d\"];\n",
		g->view->instructions ? "monospace" : "sans-serif");
	for (size_t i = 0; i < g->n_shown; i++)
		node_put(g, &g->blocks[i]);
	edges_put(g);
	buffer_printf(g->out, "}\n");
}

int blocks_dot(const struct blocks_view *view, struct buffer *ret)
{
	_clean_(freep) struct told_block *blocks = NULL;
	_clean_(freep) bool *shown = NULL;
	struct graph g = { .view = view, .out = ret };

	if (told_blocks(view->analysis, view->chosen, &blocks, &g.n) < 0)
		return -ENOMEM;
	shown = calloc(g.n + 1, sizeof(*shown));
	if (!shown)
		return -ENOMEM;
	g.blocks = blocks;
	g.shown = shown;
	g.n_shown = MIN(g.n, view->limit);
	for (size_t i = 0; i < g.n_shown; i++)
		shown[place_of(&g, blocks[i].index)] = true;
	graph_put(&g);
	return ret->bad ? -ENOMEM : 0;
}

/* --- as a picture --------------------------------------------------------------------------------- */

static int draw(const char *input, struct buffer *ret, struct fault *reterr)
{
	char *argv[] = { "dot", "-Tsvg", (char *)input, NULL };
	_clean_(buffer_donep) struct buffer said = { 0 };
	struct child_options options = { .retout = ret, .reterrout = &said, .timeout_s = DOT_TIMEOUT_S };
	int r = child_check(argv, &options, reterr);

	if (r == -ENOENT)
		return fault_set(
			reterr, r,
			"there is no dot(1) here: install graphviz, or take the graph's text with --dot");
	if (r == -ETIMEDOUT)
		return fault_set(reterr, r, "dot took more than %u s; draw fewer blocks with --limit",
				 DOT_TIMEOUT_S);
	return r;
}

int blocks_svg(const struct blocks_view *view, struct buffer *ret, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer dot = { 0 };
	char directory[] = "/tmp/morph-blocks.XXXXXX", input[sizeof(directory) + 16];
	int r = blocks_dot(view, &dot);

	if (r < 0)
		return fault_errno(reterr, r, "the graph");
	if (!mkdtemp(directory))
		return fault_errno(reterr, -errno, "%s", directory);
	snprintf(input, sizeof(input), "%s/graph.dot", directory);
	r = file_write(input, dot.data, dot.size, 0600, reterr);
	if (r == 0)
		r = draw(input, ret, reterr);
	file_remove_tree(directory, NULL);
	return r;
}
