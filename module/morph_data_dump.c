/* SPDX-License-Identifier: Apache-2.0 */

/* The text and the JSON of Morph data: compiler, modules, link plan, block map. */

#include "module/morph_data.h"

#include "base/json.h"
#include "base/text.h"

static const char *const kind_names[] = { [LINK_ARGUMENT] = "argument",
					  [LINK_OBJECT] = "object",
					  [LINK_SHARED] = "library",
					  [LINK_FILE] = "file",
					  [LINK_IR] = "IR" };

static void plan_dump(const struct link_plan *plan, FILE *out)
{
	fprintf(out, "link plan: %zu inputs\n", plan->n_inputs);
	for (size_t i = 0; i < plan->n_inputs; i++) {
		const struct link_input *input = &plan->inputs[i];

		fprintf(out, "  %s", kind_names[input->kind]);
		if (*input->text)
			fputc(' ', out);
		text_print(out, input->text);
		if (input->size)
			fprintf(out, ", %zu bytes", input->size);
		fputc('\n', out);
	}
}

static void line_dump(const char *what, const char *text, FILE *out)
{
	if (!text)
		return;
	fprintf(out, "%s ", what);
	text_print(out, text);
	fputc('\n', out);
}

void morph_data_dump(const struct morph_data *data, FILE *out)
{
	char id[BUILD_ID_MAX_TEXT];

	fprintf(out, "Morph data of build ID %s: LLVM %s, %s, %s LTO, passes -O%u, code -O%u%s%s\n",
		build_id_text(&data->build_id, id), SHOWN(data->llvm_version), SHOWN(data->triple),
		data->lto == MORPH_LTO_THIN ? "thin" : "full", data->lto_level, data->opt_level,
		data->pic ? ", PIC" : "", data->strips ? ", stripped" : "");
	line_dump("CPU", data->cpu, out);
	if (data->origin.size)
		fprintf(out, "made from build ID %s\n", build_id_text(&data->origin, id));
	line_dump("self-test", data->selftest, out);
	line_dump("benchmark", data->benchmark, out);
	for (size_t i = 0; i < data->n_options; i++)
		line_dump("option", data->options[i], out);
	for (size_t i = 0; i < data->n_modules; i++) {
		fputs("module ", out);
		text_print(out, data->modules[i].name ? data->modules[i].name : "");
		fprintf(out, ", %zu bytes\n", data->modules[i].size);
	}
	plan_dump(data->plan, out);
	block_map_dump(data->map, out);
}

void morph_data_modules_json(const struct morph_data *data, struct json *json)
{
	json_array_begin(json, "modules");
	for (size_t i = 0; i < data->n_modules; i++) {
		json_object_begin(json, NULL);
		json_string(json, "name", data->modules[i].name);
		json_u64(json, "bytes", data->modules[i].size);
		json_object_end(json);
	}
	json_array_end(json);
}

static void plan_json(const struct link_plan *plan, struct json *json)
{
	json_array_begin(json, "link_plan");
	for (size_t i = 0; i < plan->n_inputs; i++) {
		const struct link_input *input = &plan->inputs[i];

		json_object_begin(json, NULL);
		json_string(json, "kind", kind_names[input->kind]);
		json_string(json, "text", input->text);
		json_u64(json, "bytes", input->size);
		json_object_end(json);
	}
	json_array_end(json);
}

void morph_data_dump_json(const struct morph_data *data, FILE *out)
{
	struct json json = json_to(out);
	char id[BUILD_ID_MAX_TEXT];

	json_object_begin(&json, NULL);
	json_string(&json, "build_id", build_id_text(&data->build_id, id));
	json_string(&json, "origin", data->origin.size ? build_id_text(&data->origin, id) : NULL);
	json_string(&json, "llvm_version", data->llvm_version);
	json_string(&json, "triple", data->triple);
	json_string(&json, "cpu", data->cpu);
	json_string(&json, "lto", data->lto == MORPH_LTO_THIN ? "thin" : "full");
	json_u64(&json, "lto_level", data->lto_level);
	json_u64(&json, "opt_level", data->opt_level);
	json_bool(&json, "pic", data->pic);
	json_bool(&json, "strips", data->strips);
	json_string(&json, "selftest", data->selftest);
	json_string(&json, "benchmark", data->benchmark);
	json_array_begin(&json, "options");
	for (size_t i = 0; i < data->n_options; i++)
		json_string(&json, NULL, data->options[i]);
	json_array_end(&json);
	morph_data_modules_json(data, &json);
	plan_json(data->plan, &json);
	block_map_json(data->map, &json, "block_map");
	json_object_end(&json);
}
