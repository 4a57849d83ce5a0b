/* SPDX-License-Identifier: Apache-2.0 */

/*
 * relink FILE DIRECTORY OUT: generate code from FILE's IR and link it by FILE's plan, with nothing of
 * Morph in between but the reader of the data. The same compiler and linker must give the same bytes.
 */

#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/arguments.h"
#include "backend/tools.h"
#include "base/child.h"
#include "base/file.h"
#include "base/library_path.h"
#include "module/morph_data.h"

static struct fault fault;

_noreturn_ static void die(void)
{
	fprintf(stderr, "relink: %s\n", fault.text);
	exit(1);
}

static void tool_add(struct arguments *args, const char *name)
{
	char path[PATH_MAX];

	if (tool_llvm(name, path, sizeof(path), &fault) < 0)
		die();
	arguments_add(args, path);
}

static void run(struct arguments *args)
{
	if (child_check(args->v, NULL, &fault) < 0)
		die();
	arguments_done(args);
}

static void bytes_write(const char *path, const void *bytes, size_t size)
{
	FILE *out = fopen(path, "w");

	if (!out || fwrite(bytes, 1, size, out) != size || fclose(out) != 0) {
		snprintf(fault.text, sizeof(fault.text), "%s: cannot write", path);
		die();
	}
}

/* What ld.lld sets for LTO: one section a function and a datum, address-significance tables. */
static void module_compile(const struct morph_data *data, size_t i, const char *dir)
{
	struct arguments args = { 0 };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/module-%zu.bc", dir, i);
	bytes_write(path, data->modules[i].bitcode, data->modules[i].size);
	tool_add(&args, "llc");
	arguments_printf(&args, "-O%u", data->opt_level);
	if (data->cpu)
		arguments_printf(&args, "-mcpu=%s", data->cpu);
	arguments_printf(&args, "-relocation-model=%s", data->pic ? "pic" : "static");
	for (const char *const *o = (const char *const[]){ "-function-sections", "-data-sections", "-addrsig",
							   "-filetype=obj", "-o", NULL };
	     *o; o++)
		arguments_add(&args, *o);
	arguments_printf(&args, "%s/module-%zu.o", dir, i);
	arguments_add(&args, path);
	for (size_t o = 0; o < data->n_options; o++)
		arguments_add(&args, data->options[o]);
	run(&args);
}

static void input_add(const struct morph_data *data, size_t i, const char *dir, struct arguments *args)
{
	const struct link_input *input = &data->plan->inputs[i];
	char path[PATH_MAX];

	switch (input->kind) {
	case LINK_ARGUMENT: arguments_add(args, input->text); break;
	case LINK_OBJECT:
	case LINK_FILE:
		snprintf(path, sizeof(path), "%s/input-%zu", dir, i);
		bytes_write(path, input->bytes, input->size);
		arguments_printf(args, "%s%s", input->kind == LINK_FILE ? input->text : "", path);
		break;
	case LINK_SHARED:
		if (library_find(input->text, NULL, path, &fault) < 0)
			die();
		arguments_add(args, path);
		break;
	case LINK_IR:
		for (size_t m = 0; m < data->n_modules; m++)
			arguments_printf(args, "%s/module-%zu.o", dir, m);
		break;
	}
}

int main(int argc, char **argv)
{
	struct morph_data *data = NULL;
	struct image *image = NULL;
	struct arguments args = { 0 };

	if (argc != 4)
		return 2;
	if (image_open(argv[1], &image, &fault) < 0 || morph_data_load(image, NULL, &data, &fault) < 0 ||
	    morph_data_unpack(data, &fault) < 0)
		die();
	for (size_t i = 0; i < data->n_modules; i++)
		module_compile(data, i, argv[2]);
	tool_add(&args, "ld.lld");
	for (size_t i = 0; i < data->plan->n_inputs; i++)
		input_add(data, i, argv[2], &args);
	arguments_add(&args, "--build-id"); /* of the same length as the shipped one: nothing moves */
	arguments_add(&args, "-o");
	arguments_add(&args, argv[3]);
	run(&args);
	morph_data_free(data);
	image_free(image);
	return 0;
}
