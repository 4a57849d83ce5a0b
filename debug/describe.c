/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "debug/describe.h"

#include <errno.h>
#include <stdlib.h>

#include "debug/calls.h"
#include "module/array.h"

#define PADDING 64u    /* bytes between blocks of one function that still count as the function's */
#define MOST_STEPS 64u /* blocks of copied code, one behind the other */
#define NODE_NONE UINT32_MAX

struct describer {
	const struct pair *pair;
	const struct block_map *from, *to;
	const struct source *source;
};

/* One function on its way. */
struct work {
	const struct describer *d;
	struct description *out;
	uint32_t shipped; /* the shipped function's index */
	uint32_t scope;	  /* and what the source calls it */
	uint32_t block;	  /* of the generation's map */
	uint64_t own;	  /* shipped address of the function's own code that was met last */
	uint64_t end;	  /* of the code described so far */
	struct {
		uint32_t leaf, function, block, node;
		uint64_t own;
	} memo; /* neighbours are mostly of the same scope */
};

void description_done(struct description *description)
{
	for (size_t i = 0; i < description->n_nodes; i++)
		free(description->nodes[i].ranges);
	free(description->nodes);
	free(description->rows);
}

void describer_free(struct describer *describer)
{
	free(describer);
}

int describer_new(const struct pair *pair, const struct source *source, struct describer **ret)
{
	_clean_(describer_freep) struct describer *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->pair = pair;
	d->source = source;
	d->from = pair->generation_data->map;
	d->to = pair->shipped_data->map;
	*ret = TAKE(d);
	return 0;
}

/* ---- nodes ---- */

/* The node of @scope, called there, within @parent; NODE_NONE: no memory. */
static uint32_t node_in(struct work *w, uint32_t parent, uint32_t scope, uint32_t file, uint32_t line,
			uint32_t column)
{
	struct description *out = w->out;

	for (size_t i = out->n_nodes ? out->n_nodes - 1 : 0; i > parent; i--) {
		const struct described_node *n = &out->nodes[i];

		if (n->parent == parent && n->scope == scope && n->call_file == file &&
		    n->call_line == line && n->call_column == column)
			return (uint32_t)i;
	}
	if (parent == NODE_NONE || !array_reserve(out->nodes, out->n_nodes, &out->nodes_capacity))
		return NODE_NONE;
	out->nodes[out->n_nodes] = (struct described_node){
		.scope = scope, .parent = parent, .call_file = file, .call_line = line, .call_column = column
	};
	return (uint32_t)out->n_nodes++;
}

/* Within @parent what the shipped file inlined: chain[1] and so on. */
static uint32_t nodes_in(struct work *w, uint32_t parent, const uint32_t *chain, unsigned n)
{
	for (unsigned i = 1; i < n && parent != NODE_NONE; i++) {
		const struct source_scope *s = &w->d->source->scopes[chain[i]];

		parent = node_in(w, parent, chain[i], s->call_file, s->call_line, s->call_column);
	}
	return parent;
}

/* Within @parent function @scope, called where the shipped code at @address calls it. */
static uint32_t callee_in(struct work *w, uint32_t parent, uint32_t scope, uint64_t address)
{
	const struct source_row *row = source_row_at(w->d->source, address);
	uint32_t chain[SOURCE_DEPTH];

	parent = nodes_in(w, parent, chain, source_scopes_at(w->d->source, address, chain));
	return node_in(w, parent, scope, row ? row->file : SOURCE_NONE, row ? row->line : 0,
		       row ? row->column : 0);
}

static uint32_t scope_of(const struct describer *d, uint32_t function)
{
	uint32_t chain[SOURCE_DEPTH];
	uint64_t address = d->to->functions[function].address;

	return source_scopes_at(d->source, address, chain) ? chain[0] : SOURCE_NONE;
}

/* The node of shipped function @callee, copied into the function at work, by a chain of calls from that; NODE_NONE: none is known. */
static uint32_t way_find(struct work *w, uint32_t callee)
{
	const struct call_place *way[CALLS_DEPTH];
	unsigned n = calls_way(match_calls(w->d->pair->match), w->shipped, callee, w->own, way);
	uint32_t node = n ? 0 : NODE_NONE;

	for (unsigned i = 0; i < n && node != NODE_NONE; i++) {
		uint32_t scope = scope_of(w->d, i + 1 < n ? way[i + 1]->caller : callee);

		node = scope == SOURCE_NONE ? NODE_NONE : callee_in(w, node, scope, way[i]->address);
	}
	return node;
}

/* The call of @callee by the function of shipped block @target; a pointer's target has none but a call through one in that block. */
static const struct call_place *call_in(const struct work *w, uint32_t target, uint32_t callee)
{
	const struct calls *calls = match_calls(w->d->pair->match);
	const struct block *b = &w->d->to->blocks[target];
	uint32_t caller = block_map_function_of(w->d->to, target);
	size_t end;

	if (calls_of(calls, callee, &end) < end)
		return calls_find(calls, caller, callee, b->address);
	return calls_last(calls, caller, BLOCK_NONE, b->address, b->address + b->size);
}

/* The same for @block: what leads to it may have been copied, too, and have called it. */
static uint32_t copy_find(struct work *w, uint32_t callee, uint32_t block, unsigned depth)
{
	const struct match *match = w->d->pair->match;
	uint32_t scope = scope_of(w->d, callee);
	bool is_own = scope == SOURCE_NONE || depth == 0;

	for (unsigned step = 0; step < MOST_STEPS && block != BLOCK_NONE && !is_own; step++) {
		size_t n;
		const uint32_t *targets = match_blocks(match, block, &n);

		for (; n && !is_own; n--) {
			uint32_t caller = block_map_function_of(w->d->to, targets[n - 1]), parent = 0;
			const struct call_place *call = call_in(w, targets[n - 1], callee);

			is_own = step && caller == w->shipped;
			if (!call || caller == callee || (caller == w->shipped && !is_own))
				continue;
			if (!is_own)
				parent = copy_find(w, caller, block, depth - 1);
			return parent == NODE_NONE ? way_find(w, callee) :
						     callee_in(w, parent, scope, call->address);
		}
		block = match_before(match, block);
	}
	return way_find(w, callee);
}

/* The node for code that stands for shipped code of function @function, in @chain. */
static uint32_t node_find(struct work *w, uint32_t function, const uint32_t *chain, unsigned n)
{
	uint32_t node = 0;

	if (n && chain[0] != w->scope) {
		node = copy_find(w, function, w->block, CALLS_DEPTH);
		if (node == NODE_NONE) { /* a pointer's target */
			const struct call_place *call =
				calls_find(match_calls(w->d->pair->match), w->shipped, BLOCK_NONE, w->own);

			node = callee_in(w, 0, chain[0], call ? call->address : w->own);
		}
	}
	return nodes_in(w, node, chain, n);
}

static int range_add(struct described_node *node, uint64_t start, uint64_t end, uint64_t padding)
{
	if (node->n_ranges && start >= node->ranges[node->n_ranges - 1].end &&
	    start - node->ranges[node->n_ranges - 1].end <= padding) {
		node->ranges[node->n_ranges - 1].end = end;
		return 0;
	}
	if (!array_reserve(node->ranges, node->n_ranges, &node->capacity))
		return -ENOMEM;
	node->ranges[node->n_ranges++] = (struct described_range){ start, end };
	return 0;
}

static int node_cover(struct work *w, uint32_t node, uint64_t start, uint64_t end)
{
	int r = 0;

	for (; node && r == 0; node = w->out->nodes[node].parent)
		r = range_add(&w->out->nodes[node], start, end, 0);
	return r < 0 ? r : range_add(&w->out->nodes[0], start, end, PADDING);
}

/* ---- lines ---- */

static int row_add(struct work *w, uint64_t address, const struct source_row *row, bool is_statement)
{
	struct description *out = w->out;
	struct described_row new = { address, SOURCE_NONE, 0, 0, is_statement };
	struct described_row *last = out->n_rows ? &out->rows[out->n_rows - 1] : NULL;

	if (row) {
		new.file = row->file;
		new.line = row->line;
		new.column = row->column;
	}
	if (last && last->file == new.file && last->line == new.line && last->column == new.column)
		return 0;
	if (!array_reserve(out->rows, out->n_rows, &out->rows_capacity))
		return -ENOMEM;
	out->rows[out->n_rows++] = new;
	return 0;
}

static int insn_describe(struct work *w, const struct match_insn *insn)
{
	const struct source *source = w->d->source;
	uint32_t chain[SOURCE_DEPTH], function, leaf;
	uint64_t end = insn->address + insn->size;
	unsigned n = insn->kind == MATCH_NONE ? 0 : source_scopes_at(source, insn->shipped, chain);
	const struct source_row *row = insn->kind == MATCH_NONE ? NULL : source_row_at(source, insn->shipped);
	int r = row_add(w, insn->address, row,
			row && row->is_statement && row->address == insn->shipped &&
				insn->kind >= MATCH_INSN);

	function = insn->block == BLOCK_NONE ? w->shipped : block_map_function_of(w->d->to, insn->block);
	leaf = n ? chain[n - 1] : SOURCE_NONE;
	if (n && chain[0] == w->scope)
		w->own = insn->shipped;
	if (leaf != w->memo.leaf || function != w->memo.function || w->block != w->memo.block ||
	    w->own != w->memo.own) {
		w->memo.node = node_find(w, function, chain, n);
		w->memo.leaf = leaf;
		w->memo.function = function;
		w->memo.block = w->block;
		w->memo.own = w->own;
	}
	if (r < 0 || w->memo.node == NODE_NONE)
		return -ENOMEM;
	return node_cover(w, w->memo.node, insn->address, end);
}

/* Where the function's own code was left on the way to @block: the end of a shipped block. */
static void own_find(struct work *w, uint32_t block)
{
	for (unsigned step = 0; step < MOST_STEPS && block != BLOCK_NONE; step++) {
		size_t n;
		const uint32_t *targets = match_blocks(w->d->pair->match, block, &n);

		for (; step && n; n--) {
			const struct block *b = &w->d->to->blocks[targets[n - 1]];

			if (block_map_function_of(w->d->to, targets[n - 1]) == w->shipped && b->size) {
				w->own = b->address + b->size - 1;
				return;
			}
		}
		block = match_before(w->d->pair->match, block);
	}
}

static int block_describe(struct work *w, uint32_t block)
{
	const struct block *b = &w->d->from->blocks[block];
	_clean_(freep) struct match_insn *insns = NULL;
	size_t n = 0;
	int r = 0;

	if (w->out->n_rows && (b->address < w->end || b->address - w->end > PADDING))
		r = row_add(w, w->end, NULL, false);
	if (r == 0)
		r = match_block(w->d->pair->match, block, &insns, &n);
	w->block = block;
	own_find(w, block);
	for (size_t i = 0; i < n && r == 0; i++)
		r = insn_describe(w, &insns[i]);
	w->end = b->address + b->size;
	return r;
}

int describe(const struct describer *d, uint32_t function, struct description *ret)
{
	const struct block_function *f = &d->from->functions[function];
	struct work w = { .d = d, .out = ret, .shipped = match_function(d->pair->match, function) };
	int r = 0;

	if (w.shipped == BLOCK_NONE || !f->n_blocks)
		return 1;
	w.scope = scope_of(d, w.shipped);
	if (w.scope == SOURCE_NONE)
		return 1;
	if (!array_reserve(ret->nodes, ret->n_nodes, &ret->nodes_capacity))
		return -ENOMEM;
	ret->nodes[ret->n_nodes++] = (struct described_node){ .scope = w.scope, .call_file = SOURCE_NONE };
	w.own = d->to->functions[w.shipped].address;
	w.memo.leaf = SOURCE_NONE - 1;
	for (uint32_t i = 0; i < f->n_blocks && r == 0; i++)
		r = block_describe(&w, f->first_block + i);
	return r < 0 ? r : row_add(&w, w.end, NULL, false);
}
