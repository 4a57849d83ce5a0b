/* SPDX-License-Identifier: Apache-2.0 */

/*
 * layout-bench: time and quality of every layout algorithm, on graphs from files or on random
 * structured programs. Not a test: it fails only when it cannot run.
 *
 *	functions: the CPU time of each method over all functions, the sum of the ext-TSP scores
 *	against the sum of the Held-Karp bounds, of the branch costs against theirs, taken branches
 *	against all transfers programs: CPU time, cache boundaries per call, calls within a page, 4
 *	KiB pages under 90 and 99 percent of the execution
 */

#include <errno.h>
#include <getopt.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/table.h"
#include "layout/bound.h"
#include "layout/layout.h"
#include "layout/text.h"
#include "tests/layout/random_graph.h"

struct align_result {
	struct block_score score;
	double cpu_s;
	size_t n_optimal; /* functions whose ext-TSP score meets its bound */
};

struct place_result {
	struct call_score score;
	uint64_t pages_90, pages_99;
	double cpu_s;
};

struct bench {
	struct arena *arena, *scratch;
	struct layout_text text;
	struct align_result align[ALIGN_METHOD_END];
	struct block_bound bound;
	double bound_cpu_s;
	size_t n_blocks, n_ran;
	struct place_result place[PLACE_METHOD_END];
};

static int fail(const struct fault *fault)
{
	fprintf(stderr, "layout-bench: %s\n", fault->text);
	return -EIO;
}

/* Only what stays in line is ordered, as layout_function() does it. */
static int executed_part(struct bench *b, const struct layout_graph *graph, struct layout_graph *ret)
{
	const struct fluff_options options = { .min_bytes = 1 };
	uint32_t *keep = arena_array(b->arena, uint32_t, graph->n_blocks), n = 0;
	uint8_t *place = arena_array(b->arena, uint8_t, graph->n_blocks);
	struct fluff_summary summary;
	struct fault fault;

	if (!keep || !place)
		return -ENOMEM;
	if (fluff_split(b->arena, graph, &options, place, &summary, &fault) < 0)
		return fail(&fault);
	for (uint32_t i = 0; i < graph->n_blocks && !summary.is_cold; i++)
		if (place[i] == FLUFF_HOT)
			keep[n++] = i;
	return layout_graph_subset(b->arena, graph, keep, n, ret);
}

static int align_run(struct bench *b, const struct layout_graph *graph, enum align_method method,
		     double limit)
{
	const struct align_options options = { .method = method };
	uint32_t *order = arena_array(b->scratch, uint32_t, graph->n_blocks);
	uint32_t n = (uint32_t)graph->n_blocks;
	struct align_result *result = &b->align[method];
	struct block_score score;
	struct fault fault;
	double start = clock_s(CLOCK_PROCESS_CPUTIME_ID);

	if (!order || align_order(b->scratch, graph, &options, order, NULL, &fault) < 0)
		return fail(&fault);
	result->cpu_s += clock_s(CLOCK_PROCESS_CPUTIME_ID) - start;
	if (block_score(b->scratch, graph, order, &n, 1, NULL, &score, &fault) < 0)
		return fail(&fault);
	block_score_add(&result->score, &score);
	result->n_optimal += score.exttsp >= limit * (1 - 1e-6);
	return 0;
}

static int function_run(struct bench *b, const struct layout_graph *whole)
{
	struct layout_graph graph;
	struct block_bound bound;
	struct fault fault;
	double start;

	int r = executed_part(b, whole, &graph);

	if (r < 0 || graph.n_blocks == 0)
		return r;
	start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	if (block_bound(b->scratch, &graph, NULL, 0, &bound, &fault) < 0)
		return fail(&fault);
	b->bound_cpu_s += clock_s(CLOCK_PROCESS_CPUTIME_ID) - start;
	b->bound.exttsp += bound.exttsp;
	b->bound.cost += bound.cost;
	b->n_blocks += graph.n_blocks;
	b->n_ran++;
	for (unsigned method = 0; method < ALIGN_METHOD_END; method++) {
		r = align_run(b, &graph, method, bound.exttsp);

		arena_reset(b->scratch);
		if (r < 0)
			return r;
	}
	return 0;
}

static int pages_count(struct bench *b, const struct layout_program *program, const uint32_t *order,
		       struct place_result *result)
{
	struct extent *extents = arena_array(b->scratch, struct extent, program->n_nodes);
	uint64_t end = 0;

	for (size_t i = 0; i < program->n_nodes && extents; i++) {
		const struct layout_node *node = &program->nodes[order[i]];
		double count = layout_count(node->count) / MAX(node->size, 1u);

		extents[i] = (struct extent){ end, node->size, count };
		end += node->size;
	}
	if (!extents ||
	    footprint_units(b->scratch, extents, program->n_nodes, 4096, 0.9, &result->pages_90) < 0)
		return -ENOMEM;
	return footprint_units(b->scratch, extents, program->n_nodes, 4096, 0.99, &result->pages_99);
}

static int program_run(struct bench *b)
{
	const struct layout_program *program = &b->text.program;

	for (unsigned method = 0; method < PLACE_METHOD_END && program->n_nodes; method++) {
		const struct place_options options = { .method = method };
		struct place_result *result = &b->place[method];
		uint32_t *order = arena_array(b->scratch, uint32_t, program->n_nodes);
		struct fault fault;
		double start = clock_s(CLOCK_PROCESS_CPUTIME_ID);

		if (!order || place_order(b->scratch, program, &options, order, NULL, &fault) < 0)
			return fail(&fault);
		result->cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - start;
		if (call_score(b->scratch, program, order, program->n_nodes, &result->score, &fault) < 0)
			return fail(&fault);
		if (pages_count(b, program, order, result) < 0)
			return -ENOMEM;
		arena_reset(b->scratch);
	}
	return 0;
}

static void print_tables(const struct bench *b)
{
	_clean_(table_freep) struct table *blocks =
		table_new("blocks|>CPU "
			  "ms|>ext-TSP/bound|>optimal|>cost/bound|>taken/transfers|>jumps/transfers");
	_clean_(table_freep) struct table *parts =
		table_new("parts|>CPU ms|>cost|>boundaries/call|>same page|>pages 90%|>pages 99%");

	if (!blocks || !parts)
		return;
	for (unsigned i = 0; i < ALIGN_METHOD_END; i++) {
		const struct align_result *r = &b->align[i];

		table_cell(blocks, "%s", align_method_name(i));
		table_cell(blocks, "%.2f", r->cpu_s * 1e3);
		table_cell(blocks, "%.5f", r->score.exttsp / b->bound.exttsp);
		table_cell(blocks, "%zu", r->n_optimal);
		table_cell(blocks, "%.5f", r->score.cost / b->bound.cost);
		table_cell(blocks, "%.5f", r->score.taken / r->score.transfers);
		table_cell(blocks, "%.5f", r->score.jumps / r->score.transfers);
	}
	for (unsigned i = 0; i < PLACE_METHOD_END; i++) {
		const struct place_result *r = &b->place[i];

		table_cell(parts, "%s", place_method_name(i));
		table_cell(parts, "%.2f", r->cpu_s * 1e3);
		table_cell(parts, "%.4f", r->score.cost);
		table_cell(parts, "%.4f", r->score.crossings);
		table_cell(parts, "%.4f", r->score.same_page);
		table_cell(parts, "%llu", (unsigned long long)r->pages_90);
		table_cell(parts, "%llu", (unsigned long long)r->pages_99);
	}
	printf("%zu functions, %zu blocks that run; bounds took %.2f ms\n", b->n_ran, b->n_blocks,
	       b->bound_cpu_s * 1e3);
	if (b->n_ran)
		table_print(blocks, stdout);
	printf("%zu parts, %zu calls\n", b->text.program.n_nodes, b->text.program.n_calls);
	if (b->text.program.n_nodes)
		table_print(parts, stdout);
}

static void print_json(const struct bench *b)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_u64(&json, "functions", b->n_ran);
	json_u64(&json, "blocks", b->n_blocks);
	json_double(&json, "bound_cpu_s", b->bound_cpu_s);
	json_array_begin(&json, "align");
	for (unsigned i = 0; i < ALIGN_METHOD_END && b->n_ran; i++) {
		const struct align_result *r = &b->align[i];

		json_object_begin(&json, NULL);
		json_string(&json, "method", align_method_name(i));
		json_double(&json, "cpu_s", r->cpu_s);
		json_double(&json, "exttsp_to_bound", r->score.exttsp / b->bound.exttsp);
		json_u64(&json, "optimal", r->n_optimal);
		json_double(&json, "cost_to_bound", r->score.cost / b->bound.cost);
		json_double(&json, "taken_ratio", r->score.taken / r->score.transfers);
		json_double(&json, "jump_ratio", r->score.jumps / r->score.transfers);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_u64(&json, "parts", b->text.program.n_nodes);
	json_u64(&json, "calls", b->text.program.n_calls);
	json_array_begin(&json, "place");
	for (unsigned i = 0; i < PLACE_METHOD_END && b->text.program.n_nodes; i++) {
		const struct place_result *r = &b->place[i];

		json_object_begin(&json, NULL);
		json_string(&json, "method", place_method_name(i));
		json_double(&json, "cpu_s", r->cpu_s);
		json_double(&json, "cost", r->score.cost);
		json_double(&json, "crossings", r->score.crossings);
		json_double(&json, "same_page", r->score.same_page);
		json_u64(&json, "pages_90", r->pages_90);
		json_u64(&json, "pages_99", r->pages_99);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
}

struct arguments {
	bool json;
	uint32_t functions, blocks, parts;
	uint64_t seed;
	const char *file;
};

static void text_random(struct bench *b, const struct arguments *args)
{
	struct random random = { args->seed };

	b->text.functions = arena_array(b->arena, struct layout_named, args->functions);
	if (!b->text.functions)
		abort();
	for (uint32_t i = 0; i < args->functions; i++)
		b->text.functions[i] =
			(struct layout_named){ "random", random_function(&random, b->arena, args->blocks) };
	b->text.n_functions = args->functions;
	if (args->parts)
		b->text.program = random_program(&random, b->arena, args->parts);
}

static int bench_run(struct bench *b, const struct arguments *args)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	struct fault fault;
	int r = 0;

	if (!args->file)
		text_random(b, args);
	else if (file_map_open(args->file, &map, &fault) < 0 ||
		 layout_text_parse(b->arena, (const char *)map.data, map.size, &b->text, &fault) < 0)
		return fail(&fault);
	for (size_t i = 0; i < b->text.n_functions && r == 0; i++)
		r = function_run(b, &b->text.functions[i].graph);
	if (r == 0)
		r = program_run(b);
	if (r < 0)
		return r;
	if (args->json)
		print_json(b);
	else
		print_tables(b);
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: layout-bench [--json] FILE.graph\n"
			"       layout-bench [--json] [--functions N] [--blocks N] [--parts N] "
			"[--seed N]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },	    { "functions", required_argument, NULL, 'f' },
		{ "blocks", required_argument, NULL, 'b' }, { "parts", required_argument, NULL, 'p' },
		{ "seed", required_argument, NULL, 's' },   { 0 },
	};
	struct arguments args = { .functions = 200, .blocks = 100, .parts = 10000, .seed = 1 };
	_clean_(arena_freep) struct arena *arena = arena_new(), *scratch = arena_new();
	struct bench bench = { .arena = arena, .scratch = scratch };

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
		if (c == 'j')
			args.json = true;
		else if (c == 'f')
			args.functions = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'b')
			args.blocks = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'p')
			args.parts = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 's')
			args.seed = strtoull(optarg, NULL, 10);
		else
			return usage();
	}
	if (argc - optind > 1 || !arena || !scratch)
		return usage();
	args.file = argv[optind];
	return bench_run(&bench, &args) < 0 ? 1 : 0;
}
