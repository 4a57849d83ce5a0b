/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Any text either is refused with a sentence or gives graphs on which every algorithm must return a
 * permutation or refuse a wild edge; what was read reads back from its own dump.
 */

#include <string.h>

#include "layout/layout.h"
#include "layout/text.h"

#define MAX_BLOCKS 4096u

static void check_permutation(struct arena *arena, const uint32_t *order, size_t n)
{
	bool *seen = arena_array(arena, bool, n);

	for (size_t i = 0; i < n; i++) {
		if (order[i] >= n || seen[order[i]])
			abort();
		seen[order[i]] = true;
	}
}

static void run_function(struct arena *arena, struct layout_graph *graph)
{
	const struct layout_options options = { .fluff = { .warm_count = 5, .min_bytes = 1 } };
	uint32_t *order = arena_array(arena, uint32_t, graph->n_blocks);
	struct layout_function function;
	struct fault fault = { "" };

	if (layout_function(arena, graph, &options, &function, &fault) == 0)
		check_permutation(arena, function.order, graph->n_blocks);
	else if (!fault.text[0])
		abort();
	for (unsigned method = 0; method < ALIGN_METHOD_END; method++) {
		const struct align_options align = { .method = method };

		if (align_order(arena, graph, &align, order, NULL, &fault) == 0)
			check_permutation(arena, order, graph->n_blocks);
	}
	if (layout_graph_classify(arena, graph) < 0)
		abort();
}

static void run_program(struct arena *arena, const struct layout_program *program)
{
	uint32_t *order = arena_array(arena, uint32_t, program->n_nodes);
	struct call_score score;
	struct fault fault = { "" };

	for (unsigned method = 0; method < PLACE_METHOD_END; method++) {
		const struct place_options place = { .method = method };

		if (place_order(arena, program, &place, order, NULL, &fault) < 0)
			continue;
		check_permutation(arena, order, program->n_nodes);
		if (call_score(arena, program, order, program->n_nodes, &score, &fault) < 0)
			abort();
	}
}

static void check_dump(struct arena *arena, const struct layout_text *text)
{
	_clean_(buffer_donep) struct buffer first = { 0 }, second = { 0 };
	struct layout_text again;
	struct fault fault;

	layout_text_dump(text, &first);
	if (first.bad || layout_text_parse(arena, (const char *)first.data, first.size, &again, &fault) < 0)
		abort();
	layout_text_dump(&again, &second);
	if (first.size != second.size || (first.size && memcmp(first.data, second.data, first.size)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct fault fault = { "" };
	struct layout_text text;

	if (layout_text_parse(arena, (const char *)data, size, &text, &fault) < 0) {
		if (!fault.text[0])
			abort();
		return 0;
	}
	check_dump(arena, &text);
	for (size_t i = 0; i < text.n_functions; i++)
		if (text.functions[i].graph.n_blocks <= MAX_BLOCKS)
			run_function(arena, &text.functions[i].graph);
	run_program(arena, &text.program);
	return 0;
}
