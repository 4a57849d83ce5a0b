/* SPDX-License-Identifier: Apache-2.0 */

/* morph inspect: what a file carries for Morph, in numbers. */

#include "cli/verb.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/file_verb.h"
#include "module/morph_data.h"
#include "module/sidecar.h"

int inspect_run(int argc, char **argv);

struct summary {
	const struct image *image;
	const struct morph_data *data;
	char path[PATH_MAX]; /* of the sidecar; "" when the file itself carries the data */
	uint64_t text_bytes, data_bytes, ir_bytes, object_bytes;
	size_t n_blocks_with_probe, n_objects, n_files, n_arguments, n_libraries;
};

/* Executable sections: what a user calls the program's text. */
static uint64_t text_bytes(const struct image *image)
{
	uint64_t n = 0;

	for (size_t i = 0; i < image_n_sections(image); i++) {
		const struct image_section *s = image_section_at(image, i);

		if ((s->flags & SHF_ALLOC) && (s->flags & SHF_EXECINSTR))
			n += s->size;
	}
	return n;
}

static void plan_count(const struct link_plan *plan, struct summary *s)
{
	for (size_t i = 0; i < plan->n_inputs; i++) {
		const struct link_input *input = &plan->inputs[i];

		s->n_objects += input->kind == LINK_OBJECT;
		s->n_files += input->kind == LINK_FILE;
		s->n_arguments += input->kind == LINK_ARGUMENT;
		s->n_libraries += input->kind == LINK_SHARED;
		s->object_bytes += input->kind == LINK_OBJECT ? input->size : 0;
	}
}

static void summary_make(const struct image *image, const struct morph_data *data, const char *dir,
			 struct summary *ret)
{
	const struct image_section *section = image_section_find(image, MORPH_SECTION);
	struct summary s = { .image = image, .data = data, .text_bytes = text_bytes(image) };
	struct stat st;

	if (section && section->data) {
		s.data_bytes = section->size;
	} else if (sidecar_locate(image_build_id(image), dir, s.path, sizeof(s.path)) == 0 &&
		   stat(s.path, &st) == 0) {
		s.data_bytes = (uint64_t)st.st_size;
	}
	for (size_t i = 0; i < data->n_modules; i++)
		s.ir_bytes += data->modules[i].size;
	for (size_t i = 0; i < data->map->n_blocks; i++)
		s.n_blocks_with_probe += data->map->blocks[i].n_probes > 0;
	plan_count(data->plan, &s);
	*ret = s;
}

static double ratio_of(const struct summary *s)
{
	return s->text_bytes ? (double)s->data_bytes / (double)s->text_bytes : 0;
}

static const char *lto_name(enum morph_lto lto)
{
	return lto == MORPH_LTO_THIN ? "thin" : "full";
}

static void libraries_print(const struct summary *s)
{
	const struct link_plan *plan = s->data->plan;

	for (size_t i = 0; i < plan->n_inputs; i++)
		if (plan->inputs[i].kind == LINK_SHARED)
			printf(" %s", SHOWN(plan->inputs[i].text));
	putchar('\n');
}

static void summary_print(const struct summary *s)
{
	const struct morph_data *d = s->data;
	const struct block_map *map = d->map;
	char id[BUILD_ID_MAX_TEXT];

	printf("%s: carries Morph data%s%s\n", SHOWN(image_path(s->image)), *s->path ? ", in " : "",
	       SHOWN(s->path));
	printf("  build ID    %s\n", build_id_text(&d->build_id, id));
	if (d->origin.size)
		printf("  made from   %s\n", build_id_text(&d->origin, id));
	printf("  compiler    LLVM %s for %s%s%s, %s LTO, passes -O%u, code -O%u, %s%s\n",
	       SHOWN(d->llvm_version), SHOWN(d->triple), d->cpu ? ", CPU " : "", SHOWN(d->cpu ? d->cpu : ""),
	       lto_name(d->lto), d->lto_level, d->opt_level,
	       d->pic ? "position-independent" : "fixed address", d->strips ? ", stripped" : "");
	for (size_t i = 0; i < d->n_options; i++)
		printf("  %-11s %s\n", i ? "" : "options", SHOWN(d->options[i]));
	if (d->selftest)
		printf("  self-test   %s\n", SHOWN(d->selftest));
	if (d->benchmark)
		printf("  benchmark   %s\n", SHOWN(d->benchmark));
	printf("  IR          %zu modules, %" PRIu64 " bytes\n", d->n_modules, s->ir_bytes);
	printf("  functions   %zu\n", map->n_functions);
	printf("  blocks      %zu, %zu of them with a probe\n", map->n_blocks, s->n_blocks_with_probe);
	printf("  probes      %zu, %" PRIu64 " unplaced\n", map->n_probes, map->n_unplaced);
	printf("  text        %" PRIu64 " bytes\n", s->text_bytes);
	printf("  Morph data  %" PRIu64 " bytes, %.2f x text\n", s->data_bytes, ratio_of(s));
	printf("  link plan   %zu options, %zu files, %zu objects of %" PRIu64 " bytes, %zu libraries:",
	       s->n_arguments, s->n_files, s->n_objects, s->object_bytes, s->n_libraries);
	libraries_print(s);
}

static void plan_json(const struct summary *s, struct json *json)
{
	const struct link_plan *plan = s->data->plan;

	json_object_begin(json, "link_plan");
	json_u64(json, "arguments", s->n_arguments);
	json_u64(json, "files", s->n_files);
	json_u64(json, "objects", s->n_objects);
	json_u64(json, "object_bytes", s->object_bytes);
	json_array_begin(json, "libraries");
	for (size_t i = 0; i < plan->n_inputs; i++)
		if (plan->inputs[i].kind == LINK_SHARED)
			json_string(json, NULL, plan->inputs[i].text);
	json_array_end(json);
	json_object_end(json);
}

static void compiler_json(const struct morph_data *d, struct json *json)
{
	json_string(json, "llvm_version", d->llvm_version);
	json_string(json, "triple", d->triple);
	json_string(json, "cpu", d->cpu);
	json_string(json, "lto", lto_name(d->lto));
	json_u64(json, "lto_level", d->lto_level);
	json_u64(json, "opt_level", d->opt_level);
	json_bool(json, "pic", d->pic);
	json_bool(json, "strips", d->strips);
	json_array_begin(json, "options");
	for (size_t i = 0; i < d->n_options; i++)
		json_string(json, NULL, d->options[i]);
	json_array_end(json);
	json_string(json, "selftest", d->selftest);
	json_string(json, "benchmark", d->benchmark);
	morph_data_modules_json(d, json);
}

static void summary_json(const struct summary *s)
{
	const struct morph_data *d = s->data;
	struct json json = json_to(stdout);
	char id[BUILD_ID_MAX_TEXT];

	json_object_begin(&json, NULL);
	json_string(&json, "path", image_path(s->image));
	json_bool(&json, "morph", true);
	json_string(&json, "sidecar", *s->path ? s->path : NULL);
	json_string(&json, "build_id", build_id_text(&d->build_id, id));
	json_string(&json, "origin", d->origin.size ? build_id_text(&d->origin, id) : NULL);
	compiler_json(d, &json);
	json_u64(&json, "ir_bytes", s->ir_bytes);
	json_u64(&json, "functions", d->map->n_functions);
	json_u64(&json, "blocks", d->map->n_blocks);
	json_u64(&json, "blocks_with_probe", s->n_blocks_with_probe);
	json_u64(&json, "probes", d->map->n_probes);
	json_u64(&json, "unplaced_probes", d->map->n_unplaced);
	json_u64(&json, "text_bytes", s->text_bytes);
	json_u64(&json, "morph_bytes", s->data_bytes);
	json_double(&json, "ratio", ratio_of(s));
	plan_json(s, &json);
	json_object_end(&json);
}

/* A file without data is an answer, too: JSON says so before the sentence on standard error does. */
static void nothing_json(const char *path)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_string(&json, "path", path);
	json_bool(&json, "morph", false);
	json_object_end(&json);
}

static int inspect(const char *path, const char *dir, bool as_json, struct fault *reterr)
{
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	_clean_(image_freep) struct image *image = NULL;
	struct summary summary;
	int r = image_open(path, &image, reterr);

	if (r == 0)
		r = morph_data_load(image, dir, &data, reterr);
	if (as_json && (r == -ENODATA || (image && r == -ENOENT))) /* none in it; its sidecar is not there */
		nothing_json(path);
	if (r < 0)
		return r;
	summary_make(image, data, dir, &summary);
	if (as_json)
		summary_json(&summary);
	else
		summary_print(&summary);
	return 0;
}

int inspect_run(int argc, char **argv)
{
	return file_verb_run("inspect", inspect, argc, argv);
}
