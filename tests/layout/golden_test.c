/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every CASE.graph of the golden directory is laid out by every method; the text of the results
 * must equal CASE.expected. MORPH_GOLDEN_WRITE=1 writes what came out instead: read the difference
 * before you commit it.
 */

#include <dirent.h>

#include "base/file.h"
#include "layout/bound.h"
#include "layout/layout.h"
#include "layout/text.h"
#include "tests/test.h"

#ifndef GOLDEN_DIRECTORY
#error "the build says where the golden files are"
#endif

static void print_order(struct buffer *out, const uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buffer_printf(out, " %u", order[i]);
	buffer_printf(out, "\n");
}

static void print_methods(struct buffer *out, struct arena *arena, const struct layout_graph *graph)
{
	uint32_t *order = arena_array(arena, uint32_t, graph->n_blocks), n = (uint32_t)graph->n_blocks;
	struct block_bound bound;

	CHECK_INT(block_bound(arena, graph, NULL, 100, &bound, NULL), 0);
	for (unsigned method = ALIGN_ORIGINAL; method < ALIGN_METHOD_END; method++) {
		const struct align_options options = { .method = method };
		struct block_score score;

		CHECK_INT(align_order(arena, graph, &options, order, NULL, NULL), 0);
		CHECK_INT(block_score(arena, graph, order, &n, 1, NULL, &score, NULL), 0);
		buffer_printf(out, "  %-8s exttsp %.4g cost %.4g taken %.4g jumps %.4g:",
			      align_method_name(method), score.exttsp, score.cost, score.taken, score.jumps);
		print_order(out, order, n);
	}
	buffer_printf(out, "  bounds   exttsp %.4g cost %.4g\n", bound.exttsp, bound.cost);
}

static void print_function(struct buffer *out, struct arena *arena, const struct layout_named *named)
{
	struct layout_function function;
	struct fault fault;

	if (layout_function(arena, &named->graph, NULL, &function, &fault) < 0)
		FAIL("%s: %s", named->name, fault.text);
	buffer_printf(out, "function %s%s\n", named->name, function.is_cold ? ", cold" : "");
	print_methods(out, arena, &named->graph);
	for (unsigned i = 0; i < function.n_clusters; i++) {
		const struct layout_cluster *cluster = &function.clusters[i];

		buffer_printf(out, "  cluster of %llu bytes by %s:", (unsigned long long)cluster->bytes,
			      align_method_name(function.method));
		print_order(out, function.order + cluster->first, cluster->n);
	}
	buffer_printf(out, "  out of line:");
	print_order(out, function.order + function.first_cold, function.n_blocks - function.first_cold);
}

static void print_program(struct buffer *out, struct arena *arena, const struct layout_text *text)
{
	const struct layout_program *program = &text->program;
	uint32_t *order = arena_array(arena, uint32_t, program->n_nodes);

	buffer_printf(out, "program\n");
	for (unsigned method = 0; method < PLACE_METHOD_END; method++) {
		const struct place_options options = { .method = method };
		struct call_score score;

		CHECK_INT(place_order(arena, program, &options, order, NULL, NULL), 0);
		CHECK_INT(call_score(arena, program, order, program->n_nodes, &score, NULL), 0);
		buffer_printf(out, "  %-8s cost %.4g crossings %.4g:", place_method_name(method), score.cost,
			      score.crossings);
		for (size_t i = 0; i < program->n_nodes; i++)
			buffer_printf(out, " %s", text->part_names[order[i]]);
		buffer_printf(out, "\n");
	}
}

static void check_expected(const char *path, const struct buffer *out)
{
	_clean_(file_map_donep) struct file_map expected = { 0 };
	struct fault fault;

	if (getenv("MORPH_GOLDEN_WRITE")) {
		CHECK_INT(file_write(path, out->data, out->size, 0644, &fault), 0);
		return;
	}
	if (file_map_open(path, &expected, &fault) < 0)
		FAIL("%s", fault.text);
	if (expected.size == out->size && memcmp(expected.data, out->data, out->size) == 0)
		return;
	fprintf(stderr, "%.*s", (int)out->size, (const char *)out->data);
	FAIL("%s differs from what came out, which is above", path);
}

static void run_case(const char *name)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	_clean_(file_map_donep) struct file_map map = { 0 };
	_clean_(buffer_donep) struct buffer out = { 0 };
	char path[4096];
	struct layout_text text;
	struct fault fault;

	snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIRECTORY, name);
	printf("  %s\n", name);
	if (file_map_open(path, &map, &fault) < 0 ||
	    layout_text_parse(arena, (const char *)map.data, map.size, &text, &fault) < 0)
		FAIL("%s", fault.text);
	for (size_t i = 0; i < text.n_functions; i++)
		print_function(&out, arena, &text.functions[i]);
	if (text.program.n_nodes)
		print_program(&out, arena, &text);
	CHECK(!out.bad);
	strcpy(strrchr(path, '.'), ".expected");
	check_expected(path, &out);
}

TEST(every_case_comes_out_as_expected)
{
	struct dirent **entries;
	int n = scandir(GOLDEN_DIRECTORY, &entries, NULL, alphasort), n_cases = 0;

	CHECK(n > 0);
	for (int i = 0; i < n; i++) {
		const char *dot = strrchr(entries[i]->d_name, '.');

		if (dot && strcmp(dot, ".graph") == 0) {
			run_case(entries[i]->d_name);
			n_cases++;
		}
		free(entries[i]);
	}
	free(entries);
	CHECK(n_cases > 0);
}

/* Does the section of @text under @heading have a row of a table for @name? */
static bool has_row(const char *text, const char *heading, const char *name)
{
	const char *from = strstr(text, heading), *to = from ? strstr(from + 1, "\n## ") : NULL, *at;
	char row[64];

	snprintf(row, sizeof(row), "\n| `%s` |", name);
	at = from ? strstr(from, row) : NULL;
	return at && (!to || at < to);
}

TEST(every_method_is_in_docs_layout_md)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	_clean_(freep) char *text = NULL;
	struct fault fault;

	CHECK_INT(file_map_open(DOCUMENT, &map, &fault), 0);
	text = strndup((const char *)map.data, map.size);
	for (unsigned i = 0; i < ALIGN_METHOD_END; i++)
		CHECK(has_row(text, "\n## Branch alignment", align_method_name(i)));
	for (unsigned i = 0; i < PLACE_METHOD_END; i++)
		CHECK(has_row(text, "\n## Procedure layout", place_method_name(i)));
	CHECK(!has_row(text, "\n## Procedure layout", "greedy"));
}

TEST_MAIN()
