/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/blocks/blocks.h"
#include "cli/shared/demangle.h"

static void number_cell(struct table *table, const char *format_is_one_decimal, double number)
{
	if (isnan(number))
		table_cell(table, "?");
	else
		table_cell(table, format_is_one_decimal ? "%.1f" : "%.3g", number);
}

static void successors_cell(struct table *table, const struct blocks_view *view, uint32_t b)
{
	const struct block_map *map = view->analysis->map;
	const struct block *block = &map->blocks[b];
	char text[256] = "";
	size_t n = 0;

	for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges && n < sizeof(text); e++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u", n ? " " : "",
				      map->edges[e].target - view->chosen->function->first_block);
	table_cell(table, "%s", n < sizeof(text) ? text : "many");
}

int blocks_text(const struct blocks_view *view)
{
	_clean_(table_freep) struct table *table =
		table_new(">block|>address|>share|>executions|>cycles|>best|>CPI|to");
	_clean_(freep) struct told_block *blocks = NULL;
	const struct analysed_function *chosen = view->chosen;
	char name[ANALYSED_NAME_BYTES];
	size_t n;
	int r;

	if (!table || told_blocks(view->analysis, chosen, &blocks, &n) < 0)
		return -ENOMEM;
	printf("%s: %.0f samples\n\n", SHOWN(demangled(analysed_name(chosen->function, name))), chosen->fell);
	for (size_t i = 0; i < n && i < view->limit; i++) {
		const struct told_block *b = &blocks[i];

		table_cell(table, "%u", b->index - chosen->function->first_block);
		table_cell(table, "0x%" PRIx64, view->analysis->map->blocks[b->index].address);
		table_cell(table, "%.1f %%", 100 * b->share);
		number_cell(table, NULL, b->executions);
		number_cell(table, "", b->cycles);
		number_cell(table, "", b->best);
		number_cell(table, "", b->n_insns ? b->cycles / b->n_insns : NAN);
		successors_cell(table, view, b->index);
	}
	r = table_print(table, stdout);
	if (r == 0 && n > view->limit)
		printf("\n%zu blocks with less time are left out; --limit says how many are shown\n",
		       n - view->limit);
	return r;
}

int hottest_text(const struct blocks_view *view)
{
	_clean_(table_freep) struct table *table =
		table_new(">share|>samples|>cycles|>best|function|>address|instruction|waits for");
	_clean_(freep) struct told_insn *insns = NULL;
	const struct analysis *a = view->analysis;
	size_t n;

	if (!table || told_insns(view, &insns, &n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct cycles_insn *insn = &a->cycles.insns[insns[i].index];
		const struct block_function *f = &a->map->functions[insns[i].function];
		char name[ANALYSED_NAME_BYTES], text[TOLD_INSN_BYTES], waits[WAITS_BYTES];

		table_cell(table, "%.1f %%", 100 * insns[i].share);
		table_cell(table, "%.0f", insn->samples);
		number_cell(table, "", insn->cycles);
		number_cell(table, "", insn->best);
		table_cell(table, "%s", demangled(analysed_name(f, name)));
		table_cell(table, "%" PRIx64, insns[i].address);
		table_cell(table, "%s", told_text(a, insns[i].index, insns[i].address, text));
		table_cell(table, "%s", told_waits(insn, waits));
	}
	return table_print(table, stdout);
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static void address_json(struct json *json, const char *key, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_string(json, key, text);
}

static void edges_json(struct json *json, const struct analysis *a, uint32_t b)
{
	const struct block *block = &a->map->blocks[b];

	json_array_begin(json, "to");
	for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++) {
		json_object_begin(json, NULL);
		address_json(json, "address", a->map->blocks[a->map->edges[e].target].address);
		json_double(json, "executions",
			    a->cycles.estimate.edges && a->cycles.scale != CYCLES_UNKNOWN ?
				    a->cycles.estimate.edges[e] :
				    NAN);
		json_object_end(json);
	}
	json_array_end(json);
}

int blocks_json(const struct blocks_view *view)
{
	_clean_(freep) struct told_block *blocks = NULL;
	const struct analysis *a = view->analysis;
	struct json json = json_to(stdout);
	char name[ANALYSED_NAME_BYTES];
	size_t n;

	if (told_blocks(a, view->chosen, &blocks, &n) < 0)
		return -ENOMEM;
	json_object_begin(&json, NULL);
	json_string(&json, "program", image_path(a->image));
	json_string(&json, "function", analysed_name(view->chosen->function, name));
	demangled_json(&json, view->chosen->function->name);
	json_double(&json, "samples", view->chosen->fell);
	json_u64(&json, "n_blocks", n);
	json_array_begin(&json, "blocks");
	for (size_t i = 0; i < n && i < view->limit; i++) {
		const struct told_block *b = &blocks[i];

		json_object_begin(&json, NULL);
		address_json(&json, "address", a->map->blocks[b->index].address);
		json_u64(&json, "size", a->map->blocks[b->index].size);
		json_u64(&json, "instructions", b->n_insns);
		json_double(&json, "share", b->share);
		json_double(&json, "executions", b->executions);
		json_double(&json, "cycles", b->cycles);
		json_double(&json, "best", b->best);
		edges_json(&json, a, b->index);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	return 0;
}

int hottest_json(const struct blocks_view *view)
{
	_clean_(freep) struct told_insn *insns = NULL;
	const struct analysis *a = view->analysis;
	struct json json = json_to(stdout);
	size_t n;

	if (told_insns(view, &insns, &n) < 0)
		return -ENOMEM;
	json_object_begin(&json, NULL);
	json_string(&json, "program", image_path(a->image));
	json_u64(&json, "samples", a->module->total);
	json_array_begin(&json, "instructions");
	for (size_t i = 0; i < n; i++) {
		const struct cycles_insn *insn = &a->cycles.insns[insns[i].index];
		char name[ANALYSED_NAME_BYTES], text[TOLD_INSN_BYTES], waits[WAITS_BYTES];

		json_object_begin(&json, NULL);
		address_json(&json, "address", insns[i].address);
		json_string(&json, "function", analysed_name(&a->map->functions[insns[i].function], name));
		demangled_json(&json, a->map->functions[insns[i].function].name);
		json_string(&json, "text", told_text(a, insns[i].index, insns[i].address, text));
		json_double(&json, "share", insns[i].share);
		json_double(&json, "samples", insn->samples);
		json_double(&json, "cycles", insn->cycles);
		json_double(&json, "best", insn->best);
		json_string(&json, "waits_for", told_waits(insn, waits)[0] ? waits : NULL);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	return 0;
}
