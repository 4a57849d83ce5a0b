/* SPDX-License-Identifier: Apache-2.0 */

/*
 * forge PROGRAM OUT EDIT...: a copy of PROGRAM that runs as it did, and whose Morph data says something else
 *
 *	module I FILE	    the I-th module is the bitcode in FILE
 *	object NAME FILE    the link plan's object of this name is FILE
 *	add-object FILE	    the link plan has another object, behind its own
 *	argument WORD	    the link plan has another word for the linker, as its first
 *	file OPTION FILE    the link plan has another file for the linker
 *	option WORD	    the code generation has another option
 *	patch NAME SYMBOL FILE	the bytes at SYMBOL in this object of the plan are FILE's
 * and, writing OUT only:
 *	extract-module I    OUT is the I-th module
 *	extract-object NAME OUT is this object of the plan
 */

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "module/image_edit.h"
#include "module/morph_data.h"

#define MAX_FILES 16

struct forge {
	struct image *image;
	struct morph_data *data;
	struct file_map files[MAX_FILES]; /* stay open */
	size_t n_files;
	struct fault fault;
};

static void fail(struct forge *f, const char *what)
{
	fprintf(stderr, "forge: %s: %s\n", what, f->fault.text);
	exit(1);
}

static const struct file_map *file_take(struct forge *f, const char *path)
{
	if (f->n_files == MAX_FILES || file_map_open(path, &f->files[f->n_files], &f->fault) < 0)
		fail(f, path);
	return &f->files[f->n_files++];
}

static struct link_input *object_find(struct forge *f, const char *name)
{
	struct link_plan *plan = f->data->plan;

	for (size_t i = 0; i < plan->n_inputs; i++)
		if (plan->inputs[i].kind == LINK_OBJECT && strcmp(plan->inputs[i].text, name) == 0)
			return &plan->inputs[i];
	snprintf(f->fault.text, sizeof(f->fault.text), "not in the link plan");
	fail(f, name);
	return NULL;
}

/* Before all others: the last one that was added goes to the front. */
static void input_add(struct forge *f, enum link_input_kind kind, const char *text,
		      const struct file_map *file, bool first)
{
	struct link_plan *plan = f->data->plan;
	struct link_input added;

	if (link_plan_add(plan, kind, text, file ? file->data : NULL, file ? file->size : 0) < 0)
		fail(f, text);
	if (!first)
		return;
	added = plan->inputs[plan->n_inputs - 1];
	memmove(plan->inputs + 1, plan->inputs, (plan->n_inputs - 1) * sizeof(added));
	plan->inputs[0] = added;
}

/* Where the bytes of @symbol are in the object; dies when there is none. */
static size_t symbol_offset(struct forge *f, const struct link_input *object, const char *symbol)
{
	struct image *image = NULL;
	const struct image_section *symbols, *strings;
	size_t at = 0;

	if (image_open_bytes(object->bytes, object->size, object->text, &image, &f->fault) < 0)
		fail(f, object->text);
	symbols = image_section_find(image, ".symtab");
	strings = image_section_find(image, ".strtab");
	for (size_t i = 0; symbols && strings && i < symbols->size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym s;

		memcpy(&s, symbols->data + i * sizeof(s), sizeof(s));
		if (s.st_shndx != SHN_UNDEF && s.st_shndx < image_n_sections(image) &&
		    strcmp((const char *)strings->data + s.st_name, symbol) == 0)
			at = image_section_at(image, s.st_shndx)->offset + s.st_value;
	}
	image_free(image);
	if (!at)
		fail(f, symbol);
	return at;
}

static void patch(struct forge *f, const char *name, const char *symbol, const char *path)
{
	struct link_input *object = object_find(f, name);
	const struct file_map *file = file_take(f, path);
	size_t at = symbol_offset(f, object, symbol);
	uint8_t *bytes = malloc(object->size);

	memcpy(bytes, object->bytes, object->size);
	memcpy(bytes + at, file->data, file->size);
	object->bytes = bytes;
}

static void module_set(struct forge *f, size_t i, const char *path)
{
	const struct file_map *file = file_take(f, path);

	if (i >= f->data->n_modules)
		fail(f, path);
	f->data->modules[i].bitcode = file->data;
	f->data->modules[i].size = file->size;
}

static void option_add(struct forge *f, const char *word)
{
	struct morph_data *data = f->data;

	data->options = realloc(data->options, (data->n_options + 2) * sizeof(char *));
	data->options[data->n_options++] = strdup(word);
	data->options[data->n_options] = NULL;
}

static char **edit_one(struct forge *f, char **word)
{
	if (strcmp(word[0], "module") == 0)
		return module_set(f, strtoul(word[1], NULL, 10), word[2]), word + 3;
	if (strcmp(word[0], "object") == 0) {
		struct link_input *object = object_find(f, word[1]);
		const struct file_map *file = file_take(f, word[2]);

		object->bytes = file->data;
		object->size = file->size;
		return word + 3;
	}
	if (strcmp(word[0], "add-object") == 0)
		return input_add(f, LINK_OBJECT, "more.o", file_take(f, word[1]), false), word + 2;
	if (strcmp(word[0], "argument") == 0)
		return input_add(f, LINK_ARGUMENT, word[1], NULL, true), word + 2;
	if (strcmp(word[0], "file") == 0)
		return input_add(f, LINK_FILE, word[1], file_take(f, word[2]), true), word + 3;
	if (strcmp(word[0], "option") == 0)
		return option_add(f, word[1]), word + 2;
	if (strcmp(word[0], "patch") == 0)
		return patch(f, word[1], word[2], word[3]), word + 4;
	fail(f, word[0]);
	return NULL;
}

static void program_write(struct forge *f, const char *out)
{
	static const char *const dropped[] = { MORPH_SECTION, NULL };
	struct buffer container = { 0 }, file = { 0 };
	struct image_new_section section = { MORPH_SECTION, SHT_PROGBITS, NULL, 0 };

	if (morph_data_encode(f->data, &container) < 0)
		fail(f, "encoding");
	section.bytes = container.data;
	section.size = container.size;
	if (image_edit(f->image, dropped, &section, 1, &file, &f->fault) < 0 ||
	    file_write(out, file.data, file.size, 0755, &f->fault) < 0)
		fail(f, out);
}

int main(int argc, char **argv)
{
	struct forge f = { .fault = { "" } };

	if (argc < 4) {
		fprintf(stderr, "usage: forge PROGRAM OUT EDIT...\n");
		return 2;
	}
	if (image_open(argv[1], &f.image, &f.fault) < 0 ||
	    morph_data_load(f.image, NULL, &f.data, &f.fault) < 0 || morph_data_unpack(f.data, &f.fault) < 0)
		fail(&f, argv[1]);
	if (strcmp(argv[3], "extract-module") == 0 && argc == 5) {
		const struct morph_module *module =
			&f.data->modules[strtoul(argv[4], NULL, 10) % f.data->n_modules];

		return file_write(argv[2], module->bitcode, module->size, 0644, &f.fault) < 0;
	}
	if (strcmp(argv[3], "extract-object") == 0 && argc == 5) {
		const struct link_input *object = object_find(&f, argv[4]);

		return file_write(argv[2], object->bytes, object->size, 0644, &f.fault) < 0;
	}
	for (char **word = argv + 3; *word;)
		word = edit_one(&f, word);
	program_write(&f, argv[2]);
	return 0;
}
