/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/ld_fat.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/archive.h"
#include "backend/build_report.h"
#include "backend/tools.h"
#include "base/file.h"
#include "base/log.h"
#include "module/array.h"
#include "module/bitcode.h"
#include "module/image.h"

/*
 * One fat object glued to others without IR: the IR would be taken for all of it. Clang gives names of sections no table of their
 * own, whoever rewrites an object does: clang's own need no look. What it defines beside the IR (DW.ref.*) is weak.
 */
static bool defines_more(const struct image *image, const struct image_section *ir)
{
	struct bitcode_symbols symbols;
	bool more = false;

	if (!image_section_find(image, ".shstrtab") ||
	    bitcode_symbols_read(ir->data, ir->size, &symbols, NULL) < 0)
		return false;
	for (size_t i = 0; i < image_n_symbols(image) && !more; i++) {
		const struct image_symbol *s = image_symbol_at(image, i);

		more = s->binding == STB_GLOBAL && !bitcode_symbols_have(&symbols, s->name);
	}
	bitcode_symbols_done(&symbols);
	return more;
}

/*
 * A linker knows IR by the name of its section. With another one, of the same length, the object is one of machine
 * code; in an archive nothing moves.
 */
int fat_object_hide(const char *path, const char *name, size_t at, size_t size, struct fault *reterr)
{
	static const char known[] = ".llvm.lto", spoiled[] = ".llvm.off";
	_clean_(file_map_donep) struct file_map map = { 0 };
	_clean_(image_freep) struct image *image = NULL;
	_clean_(freep) uint8_t *bytes = NULL;
	uint8_t *object, *p;
	int r = file_map_open(path, &map, reterr);

	if (r < 0)
		return r;
	bytes = map.size < at + size ? NULL : malloc(map.size);
	if (!bytes)
		return fault_errno(reterr, -ENOMEM, "%s", path);
	memcpy(bytes, map.data, map.size);
	object = bytes + at;
	for (uint8_t *from = object; (p = memmem(from, size - (size_t)(from - object), known, sizeof(known)));
	     from = p + 1)
		memcpy(p, spoiled, sizeof(spoiled));
	r = image_open_bytes(object, size, path, &image, reterr);
	if (r == 0 && (image_section_find(image, known) || !image_section_find(image, spoiled)))
		r = fault_set(reterr, -ENOTSUP, "%s: its IR cannot be taken out", name);
	if (r == 0 && !image_section_find(image, ".text"))
		r = fault_set(reterr, -ENOTSUP, "%s: has no machine code beside its IR", name);
	return r < 0 ? r : file_write(path, bytes, map.size, 0600, reterr);
}

enum fault_kind { SOUND, GLUED, READS_FILES, READS_FILES_ONLY };

/* Shared libraries are large, and no business of ours. */
static bool is_linked(const uint8_t *bytes, size_t size)
{
	return size > offsetof(Elf64_Ehdr, e_type) && memcmp(bytes, ELFMAG, SELFMAG) == 0 &&
	       bytes[offsetof(Elf64_Ehdr, e_type)] != ET_REL;
}

static enum fault_kind object_judge(const char *name, const uint8_t *bytes, size_t size)
{
	_clean_(image_freep) struct image *image = NULL;
	const struct image_section *s;
	size_t n;

	if (bitcode_is(bytes, size))
		return bitcode_reads_files(bytes, size) ? READS_FILES_ONLY : SOUND;
	if (is_linked(bytes, size) || !memmem(bytes, size, ".llvm.lto", 10) ||
	    image_open_bytes(bytes, size, name, &image, NULL) < 0)
		return SOUND;
	s = image_section_find(image, ".llvm.lto");
	if (!s || !s->data)
		return SOUND;
	if (bitcode_size(s->data, s->size, &n, NULL) < 0 || n < s->size || defines_more(image, s))
		return GLUED;
	return bitcode_reads_files(s->data, s->size) ? READS_FILES : SOUND;
}

int fat_objects_directory(struct fat_objects *fat, struct fault *reterr)
{
	return fat->directory ? 0 : tool_directory("morph-ld", &fat->directory, reterr);
}

/* Of one name as before: --exclude-libs goes by it. */
static int copy_make(struct fat_objects *fat, const char *path, char **ret, struct fault *reterr)
{
	const char *slash = strrchr(path, '/');
	_clean_(freep) char *directory = NULL, *copy = NULL;
	int r = fat_objects_directory(fat, reterr);

	if (r == 0 && (asprintf(&directory, "%s/%u", fat->directory, fat->n_copies++) < 0 ||
		       asprintf(&copy, "%s/%s", directory, slash ? slash + 1 : path) < 0))
		return fault_errno(reterr, -ENOMEM, "%s", path);
	if (r == 0)
		r = file_mkdirs(directory, 0700, reterr);
	if (r == 0)
		r = file_copy(path, copy, reterr);
	if (r == 0)
		*ret = TAKE(copy);
	return r;
}

/* One input of the link. */
struct input {
	const char *path;
	const uint8_t *start; /* of its bytes */
	char *copy;	      /* owned; NULL: none was needed */
};

/* @member: NULL: the input itself */
static char *name_of(const char *path, const char *member)
{
	char *name = NULL;

	if (asprintf(&name, member ? "%s(%s)" : "%s", path, member) < 0)
		return NULL;
	return name;
}

static int reader_note(struct fat_objects *fat, const struct input *input, const char *member,
		       struct fault *reterr)
{
	struct fat_reader *reader;

	if (!array_reserve(fat->readers, fat->n_readers, &fat->capacity))
		return fault_errno(reterr, -ENOMEM, "%s", input->path);
	reader = &fat->readers[fat->n_readers++];
	reader->printed = name_of(input->copy, member);
	reader->name = name_of(input->path, member);
	return reader->printed && reader->name ? 0 : fault_errno(reterr, -ENOMEM, "%s", input->path);
}

static int object_mend(struct fat_objects *fat, struct input *input, const char *member, const uint8_t *bytes,
		       size_t size, struct fault *reterr)
{
	const char *name = member ? member : input->path;
	enum fault_kind kind = object_judge(name, bytes, size);
	struct bitcode_facts facts = { 0 };
	int r = 0;

	if (kind == SOUND)
		return 0;
	if (kind == READS_FILES_ONLY) {
		bitcode_facts_read(bytes, size, &facts, NULL);
		fault_set(reterr, 0, "the assembly of %s reads a file", facts.source);
		return 1;
	}
	if (!input->copy)
		r = copy_make(fat, input->path, &input->copy, reterr);
	if (r == 0)
		r = fat_object_hide(input->copy, name, (size_t)(bytes - input->start), size, reterr);
	return r == 0 && kind == READS_FILES ? reader_note(fat, input, member, reterr) : r;
}

static int archive_mend(struct fat_objects *fat, struct input *input, const struct file_map *map,
			struct fault *reterr)
{
	_clean_(archive_donep) struct archive archive = { 0 };
	int r = 0;

	if (archive_read(input->path, map->data, map->size, &archive, NULL) < 0)
		return 0; /* the linker will complain */
	for (size_t i = 0; r == 0 && i < archive.n_members; i++) {
		const struct archive_member *m = &archive.members[i];

		if (m->bytes)
			r = object_mend(fat, input, m->name, m->bytes, m->size, reterr);
	}
	return r;
}

/* @retcopy: owned by the caller; NULL: it is sound */
static int file_mend(struct fat_objects *fat, const char *path, char **retcopy, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	struct input input = { .path = path };
	int r;

	*retcopy = NULL;
	if (file_map_open(path, &map, NULL) < 0 || map.size < 8)
		return 0;
	input.start = map.data;
	r = memcmp(map.data, "!<arch>\n", 8) == 0 ?
		    archive_mend(fat, &input, &map, reterr) :
		    object_mend(fat, &input, NULL, map.data, map.size, reterr);
	*retcopy = input.copy;
	return r;
}

/* The file that a word of the link names, in @ret, which is owned; NULL: none */
static void word_file(const struct ld_line *line, const struct arguments *args, size_t i, char **ret)
{
	const char *word = args->v[i];

	*ret = NULL;
	if (strncmp(word, "-l", 2) == 0 && word[2])
		*ret = ld_line_library(line, word + 2, line->is_static);
	else if (word[0] != '-' && strcmp(args->v[i - 1], "-o") != 0)
		*ret = strdup(word);
}

int fat_objects_mend(const struct ld_line *line, struct arguments *args, struct fat_objects *ret,
		     struct fault *reterr)
{
	struct fat_objects fat = { 0 };
	int r = 0;

	for (size_t i = 1; r == 0 && i < args->n; i++) {
		_clean_(freep) char *path = NULL;
		char *copy = NULL;

		word_file(line, args, i, &path);
		if (path)
			r = file_mend(&fat, path, &copy, reterr);
		if (copy) {
			free(args->v[i]);
			args->v[i] = copy;
		}
	}
	if (r != 0)
		fat_objects_done(&fat);
	else
		*ret = fat;
	return r;
}

/* The linker prints a line for each that it took. */
static bool was_taken(const char *printed, const struct buffer *trace)
{
	const char *at = (const char *)trace->data, *end = at + trace->size;
	size_t n = strlen(printed);

	for (; trace->size && (at = memmem(at, (size_t)(end - at), printed, n)); at++)
		if ((at == (const char *)trace->data || at[-1] == '\n') && (at + n == end || at[n] == '\n'))
			return true;
	return false;
}

void fat_objects_say(const struct fat_objects *fat, const char *output, const struct buffer *trace)
{
	for (size_t i = 0; i < fat->n_readers; i++) {
		const char *name = fat->readers[i].name;
		_clean_(freep) char *text = NULL;

		if (!was_taken(fat->readers[i].printed, trace) ||
		    asprintf(&text, "%s: its assembly reads a file", name) < 0)
			continue;
		log_warning("%s: carries no IR of %s", output, text);
		build_report_add("module", output, text);
	}
}

void fat_objects_done(struct fat_objects *fat)
{
	for (size_t i = 0; i < fat->n_readers; i++) {
		free(fat->readers[i].printed);
		free(fat->readers[i].name);
	}
	if (fat->directory)
		file_remove_tree(fat->directory, NULL);
	free(fat->readers);
	free(fat->directory);
	*fat = (struct fat_objects){ 0 };
}
