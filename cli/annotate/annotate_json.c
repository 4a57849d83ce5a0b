/* SPDX-License-Identifier: Apache-2.0 */

#include <math.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/annotate/view.h"
#include "cli/shared/demangle.h"
#include "profiles/store/profile.h"

static void address_json(struct json *json, const char *key, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_string(json, key, text);
}

static void shares_json(struct json *json, const double *least, const double *most)
{
	json_object_begin(json, "shares");
	for (unsigned k = 0; k < CULPRIT_END; k++) {
		if (!(most[k] > 0))
			continue;
		json_object_begin(json, culprit_name(k));
		json_double(json, "least", least[k]);
		json_double(json, "most", most[k]);
		json_object_end(json);
	}
	json_object_end(json);
}

static void insn_json(struct json *json, const struct annotate_view *view, uint32_t i, uint64_t address)
{
	const struct cycles *c = &view->analysis->cycles;
	const struct cycles_insn *insn = &c->insns[i];
	uint8_t size = c->code.insns[i].size;
	const uint8_t *code = image_code(view->analysis->image, address, size);
	char text[INSN_TEXT_BYTES];
	const char *file, *inlined;
	double most[CULPRIT_END];
	uint32_t line;

	json_object_begin(json, NULL);
	address_json(json, "address", address);
	json_string(json, "text",
		    code ? insn_text(image_machine(view->analysis->image), code, size, address, text) : NULL);
	if (annotate_line(view, address, &file, &line, &inlined)) {
		json_string(json, "file", file);
		json_u64(json, "line", line);
		json_string(json, "inlined", inlined);
	}
	json_bool(json, "known", c->code.insns[i].flow != INSN_UNKNOWN);
	json_double(json, "samples", c->code.samples[i]);
	json_double(json, "charged", insn->samples);
	json_double(json, "cycles", insn->cycles);
	json_double(json, "best", insn->best);
	for (unsigned k = 0; k < CULPRIT_END; k++)
		most[k] = insn->shares[k] + (insn->suspects & (1u << k) ? insn->may : 0);
	shares_json(json, insn->shares, most);
	json_object_end(json);
}

static void block_json(struct json *json, const struct annotate_view *view, uint32_t b)
{
	const struct cycles *c = &view->analysis->cycles;
	const struct block *block = &c->code.map->blocks[b];
	const struct code_block *code = &c->code.blocks[b];
	uint64_t address = block->address;
	double best, cycles = cycles_block(c, b, &best);

	json_object_begin(json, NULL);
	address_json(json, "address", address);
	json_u64(json, "size", block->size);
	json_double(json, "executions", c->scale == CYCLES_UNKNOWN ? NAN : c->estimate.blocks[b]);
	json_double(json, "confidence", c->estimate.confidence[b] / 255.0);
	json_double(json, "cycles", cycles);
	json_double(json, "best", best);
	json_array_begin(json, "successors");
	for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
		address_json(json, NULL, c->code.map->blocks[c->code.map->edges[e].target].address);
	json_array_end(json);
	json_array_begin(json, "instructions");
	for (uint32_t i = code->first_insn; i < code->first_insn + code->n_insns; i++) {
		insn_json(json, view, i, address);
		address += c->code.insns[i].size;
	}
	json_array_end(json);
	json_object_end(json);
}

static void function_json(struct json *json, const struct annotate_view *view,
			  const struct analysed_function *f)
{
	char name[ANALYSED_NAME_BYTES];

	json_object_begin(json, NULL);
	json_string(json, "name", analysed_name(f->function, name));
	demangled_json(json, f->function->name);
	address_json(json, "address", f->function->address);
	json_double(json, "samples", f->fell);
	json_double(json, "charged", f->summary.samples);
	json_double(json, "cycles", f->summary.cycles);
	shares_json(json, f->summary.least, f->summary.most);
	if (view->chosen) {
		json_array_begin(json, "blocks");
		for (uint32_t b = 0; b < f->function->n_blocks; b++)
			block_json(json, view, f->function->first_block + b);
		json_array_end(json);
	}
	json_object_end(json);
}

int annotate_json(const struct annotate_view *view)
{
	static const char *const scales[] = { "unknown", "best-case", "count" };
	const struct analysis *a = view->analysis;
	struct json json = json_to(stdout);
	char id[BUILD_ID_MAX_TEXT];

	json_object_begin(&json, NULL);
	json_string(&json, "program", image_path(a->image));
	json_string(&json, "build_id",
		    image_build_id(a->image)->size ? build_id_text(image_build_id(a->image), id) : NULL);
	json_u64(&json, "samples", a->module->total);
	json_double(&json, "samples_in_code", a->cycles.code.mapped);
	json_double(&json, "rate_hz", a->log->rate_hz);
	json_double(&json, "clock_hz", a->clock_hz);
	json_bool(&json, "clock_measured", a->is_clock_measured);
	json_bool(&json, "blocks_recovered", a->is_recovered);
	json_u64(&json, "functions_left_out", a->left.n_functions);
	json_double(&json, "samples_left_out", a->left.weight);
	json_string(&json, "scale", scales[a->cycles.scale]);
	json_array_begin(&json, "functions");
	for (size_t i = 0; i < view->n_functions; i++)
		if (view->chosen ? view->chosen == &view->functions[i] : i < view->n_shown)
			function_json(&json, view, &view->functions[i]);
	json_array_end(&json);
	json_object_end(&json);
	return 0;
}
