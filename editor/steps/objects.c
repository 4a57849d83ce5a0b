/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/steps/objects.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "editor/code/code_cache.h"
#include "editor/link/relink.h"

char *edit_path(const struct edit *edit, char buffer[PATH_MAX], const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(buffer, PATH_MAX, "%s/", edit->options->directory);

	va_start(ap, fmt);
	vsnprintf(buffer + n, (size_t)(PATH_MAX - n), fmt, ap);
	va_end(ap);
	return buffer;
}

const char *unit_suffix(size_t i, char buffer[32])
{
	snprintf(buffer, 32, ".m%zu", i);
	return buffer;
}

const char *unit_base(size_t i, char buffer[32])
{
	snprintf(buffer, 32, "base-%zu.o", i);
	return buffer;
}

int unit_parse(struct edit *edit, size_t i, LLVMModuleRef *ret, struct fault *reterr)
{
	const struct morph_module *shipped = &edit->data->modules[i];
	const struct buffer *restored = &edit->units[i].restored;

	return restored->size ? ir_parse(restored->data, restored->size, shipped->name, ret, reterr) :
				ir_parse(shipped->bitcode, shipped->size, shipped->name, ret, reterr);
}

/* LLVM options of every code generation, so that results can be linked with each other. */
static int objects_make(struct edit *edit, const struct codegen_input *inputs, size_t n,
			const char *const *more, const char *prefix, bool *taken, struct fault *reterr)
{
	static const char *const always[] = { "-basic-block-address-map", "-function-sections",
					      "-data-sections" };
	struct codegen_options codegen = {
		.opt_level = edit->data->opt_level,
		.pic = edit->data->pic,
		.cpu = edit->data->cpu,
		.n_threads = edit->options->n_threads,
	};
	const char **options;
	size_t n_more = 0, at = 0;
	int r;

	while (more[n_more])
		n_more++;
	options = calloc(ARRAY_SIZE(always) + edit->data->n_options + n_more + 1, sizeof(*options));
	if (!options)
		return fault_errno(reterr, -ENOMEM, "generating code");
	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		options[at++] = always[i];
	for (size_t i = 0; i < edit->data->n_options; i++)
		options[at++] = edit->data->options[i];
	for (size_t i = 0; i < n_more; i++)
		options[at++] = more[i];
	codegen.options = options;
	r = taken ? code_cache_run(edit->options->code_cache, inputs, n, &codegen, edit->options->directory,
				   prefix, taken, reterr) :
		    codegen_run(inputs, n, &codegen, edit->options->directory, prefix, reterr);
	free(options);
	return r;
}

int objects_generate(struct edit *edit, const struct codegen_input *inputs, size_t n, const char *const *more,
		     const char *prefix, struct fault *reterr)
{
	return objects_make(edit, inputs, n, more, prefix, NULL, reterr);
}

int objects_take(struct edit *edit, const struct codegen_input *inputs, size_t n, const char *const *more,
		 const char *prefix, bool *taken, struct fault *reterr)
{
	return objects_make(edit, inputs, n, more, prefix, taken, reterr);
}

void objects_free(char **objects)
{
	for (char **o = objects; o && *o; o++)
		free(*o);
	free(objects);
}

char **objects_list(struct edit *edit, const char *hot)
{
	size_t n = edit->data->n_modules, at = 0, n_cold = 0;
	char **objects = calloc(n + 2, sizeof(*objects));
	bool ok = objects;

	ok = ok && asprintf(&objects[at++], "%s/%s-0.o", edit->options->directory, hot) >= 0;
	for (size_t i = 0; ok && i < n; i++) {
		if (edit->units[i].keeps_base)
			ok = asprintf(&objects[at++], "%s/base-%zu.o", edit->options->directory, i) >= 0;
		else if (edit->units[i].cold.size)
			ok = asprintf(&objects[at++], "%s/cut-%zu.o", edit->options->directory, ++n_cold) >=
			     0;
	}
	return ok ? objects : NULL;
}

int objects_link(struct edit *edit, char **objects, const char *const *options, const char *out,
		 struct link_map **retmap, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer said = { 0 };
	char path[PATH_MAX], map[PATH_MAX + 8];
	const char *all[16] = { "--no-demangle", "--print-icf-sections", map };
	struct relink relink = {
		.plan = edit->data->plan,
		.directory = edit->options->directory,
		.objects = (const char *const *)objects,
		.options = retmap ? all : options,
		.retsaid = &said,
		.search = { dynamic_run_path(&edit->dynamic, NULL), edit->origin },
		.run_path = edit->run_path,
		.name = dynamic_version_base(&edit->dynamic),
	};
	int r;

	snprintf(map, sizeof(map), "--Map=%s", edit_path(edit, path, "link.map"));
	for (size_t i = 0; options && options[i]; i++)
		all[3 + i] = options[i];
	r = relink_run(&relink, out, reterr);
	return r < 0 || !retmap ? r : link_map_read(path, (const char *)said.data, retmap, reterr);
}

int linked_open(const char *path, struct image **retimage, struct block_map **retmap, struct fault *reterr)
{
	int r = image_open(path, retimage, reterr);

	if (r == 0)
		r = block_map_build(*retimage, retmap, reterr);
	malloc_trim(0); /* of what it was built from */
	return r;
}
