/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/used_inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/archive.h"
#include "base/file.h"
#include "module/array.h"
#include "module/bitcode.h"
#include "module/image.h"

struct used_file {
	char *path;
	struct file_map map;
	struct archive archive;	  /* of members, when it is one */
	bool *is_taken;		  /* per member */
	struct file_map *members; /* thin: the mapped members */
};

static void used_file_free(struct used_file *f)
{
	for (size_t i = 0; f->members && i < f->archive.n_members; i++)
		file_map_done(&f->members[i]);
	archive_done(&f->archive);
	file_map_done(&f->map);
	free(f->members);
	free(f->is_taken);
	free(f->path);
	free(f);
}

void used_inputs_done(struct used_inputs *used)
{
	for (size_t i = 0; i < used->n_inputs; i++)
		free(used->inputs[i].name);
	for (size_t i = 0; i < used->n_files; i++)
		used_file_free(used->files[i]);
	free(used->inputs);
	free(used->files);
	*used = (struct used_inputs){ 0 };
}

static int file_open(struct used_inputs *used, const char *path, size_t n_path, struct used_file **ret,
		     struct fault *reterr)
{
	struct used_file *f;
	int r;

	for (size_t i = 0; i < used->n_files; i++)
		if (strncmp(used->files[i]->path, path, n_path) == 0 && !used->files[i]->path[n_path]) {
			*ret = used->files[i];
			return 0;
		}
	if (!array_reserve(used->files, used->n_files, &used->files_capacity))
		return fault_errno(reterr, -ENOMEM, "linker inputs");
	f = calloc(1, sizeof(*f));
	if (!f)
		return fault_errno(reterr, -ENOMEM, "linker inputs");
	used->files[used->n_files++] = f;
	f->path = strndup(path, n_path);
	if (!f->path)
		return fault_errno(reterr, -ENOMEM, "linker inputs");
	r = file_map_open(f->path, &f->map, reterr);
	if (r == 0)
		*ret = f;
	return r;
}

static int kind_of(const char *name, const uint8_t *bytes, size_t size, enum used_kind *ret,
		   struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	int r;

	*ret = USED_IR;
	if (bitcode_is(bytes, size))
		return 0;
	r = image_open_bytes(bytes, size, name, &image, reterr);
	if (r < 0)
		return r;
	if (image_elf_type(image) == ET_DYN)
		*ret = USED_SHARED;
	else if (!image_section_find(image, ".llvm.lto"))
		*ret = USED_OBJECT;
	return 0;
}

static int input_add(struct used_inputs *used, const char *name, size_t n_name, const uint8_t *bytes,
		     size_t size, struct fault *reterr)
{
	struct used_input *input;
	int r;

	if (!array_reserve(used->inputs, used->n_inputs, &used->capacity))
		return fault_errno(reterr, -ENOMEM, "linker inputs");
	input = &used->inputs[used->n_inputs];
	*input = (struct used_input){ .name = strndup(name, n_name), .bytes = bytes, .size = size };
	if (!input->name)
		return fault_errno(reterr, -ENOMEM, "linker inputs");
	used->n_inputs++;
	r = kind_of(input->name, bytes, size, &input->kind, reterr);
	return r;
}

/* The one that was added last. */
static void input_place(struct used_inputs *used, const struct used_file *file, size_t at)
{
	used->inputs[used->n_inputs - 1].path = file->path;
	used->inputs[used->n_inputs - 1].at = at;
}

static int archive_load(struct used_file *f, struct fault *reterr)
{
	int r;

	if (f->archive.members)
		return 0;
	r = archive_read(f->path, f->map.data, f->map.size, &f->archive, reterr);
	if (r < 0)
		return r;
	f->is_taken = calloc(MAX(f->archive.n_members, 1u), sizeof(*f->is_taken));
	f->members = calloc(MAX(f->archive.n_members, 1u), sizeof(*f->members));
	return f->is_taken && f->members ? 0 : fault_errno(reterr, -ENOMEM, "%s", f->path);
}

/* Members of one name: all of them were used, or which were cannot be told. See members_check(). */
static int member_find(struct used_file *f, const char *name, size_t n_name, size_t *ret,
		       struct fault *reterr)
{
	for (size_t i = 0; i < f->archive.n_members; i++) {
		const char *m = f->archive.members[i].name;

		if (strncmp(m, name, n_name) != 0 || m[n_name] || f->is_taken[i])
			continue;
		f->is_taken[i] = true;
		*ret = i;
		return 0;
	}
	return fault_set(reterr, -ENODATA, "%s: no member %.*s", f->path, (int)n_name, name);
}

static int member_add(struct used_inputs *used, const char *line, size_t n_path, size_t n_line,
		      struct fault *reterr)
{
	const struct archive_member *member;
	struct used_file *f;
	size_t i = 0;
	int r = file_open(used, line, n_path, &f, reterr);

	if (r == 0)
		r = archive_load(f, reterr);
	if (r == 0)
		r = member_find(f, line + n_path + 1, n_line - n_path - 2, &i, reterr);
	if (r < 0)
		return r;
	member = &f->archive.members[i];
	if (!member->path) {
		r = input_add(used, line, n_line, member->bytes, member->size, reterr);
		if (r == 0)
			input_place(used, f, (size_t)(member->bytes - f->map.data));
		return r;
	}
	r = file_map_open(member->path, &f->members[i], reterr);
	return r < 0 ? r : input_add(used, line, n_line, f->members[i].data, f->members[i].size, reterr);
}

/* An archive made from a list that names an object twice has it twice: either will do. */
static bool members_equal(const struct archive_member *a, const struct archive_member *b)
{
	if (a->path || b->path)
		return a->path && b->path && strcmp(a->path, b->path) == 0;
	return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* Some but not all members of one name were used: the trace does not say which, where they differ. */
static int members_check(const struct used_file *f, struct fault *reterr)
{
	for (size_t i = 0; i < f->archive.n_members; i++)
		for (size_t j = 0; f->is_taken[i] && j < f->archive.n_members; j++)
			if (!f->is_taken[j] &&
			    strcmp(f->archive.members[i].name, f->archive.members[j].name) == 0 &&
			    !members_equal(&f->archive.members[i], &f->archive.members[j]))
				return fault_set(reterr, -ENODATA,
						 "%s: has several members %s, and the link used only some",
						 f->path, f->archive.members[i].name);
	return 0;
}

static bool file_exists(const char *path, size_t n)
{
	_clean_(freep) char *copy = strndup(path, n);

	return copy && n && access(copy, R_OK) == 0;
}

/* Where the archive's name ends in "ARCHIVE(MEMBER)"; 0: that is not what it is. */
static size_t archive_end(const char *line, size_t n)
{
	if (n < 4 || line[n - 1] != ')')
		return 0;
	for (size_t i = n - 2; i > 0; i--)
		if (line[i] == '(' && file_exists(line, i))
			return i;
	return 0;
}

static int line_read(struct used_inputs *used, const char *line, size_t n, struct buffer *retother,
		     struct fault *reterr)
{
	size_t end = archive_end(line, n);
	struct used_file *f;
	int r;

	if (end)
		return member_add(used, line, end, n, reterr);
	if (!file_exists(line, n)) {
		buffer_bytes(retother, line, n);
		buffer_u8(retother, '\n');
		return 0;
	}
	r = file_open(used, line, n, &f, reterr);
	if (r == 0)
		r = input_add(used, line, n, f->map.data, f->map.size, reterr);
	if (r == 0)
		input_place(used, f, 0);
	return r;
}

int used_inputs_read(const struct buffer *trace, struct used_inputs *ret, struct buffer *retother,
		     struct fault *reterr)
{
	_clean_(used_inputs_donep) struct used_inputs used = { 0 };
	const char *p = (const char *)trace->data, *end = p + trace->size;
	int r = 0;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t n = newline ? (size_t)(newline - p) : (size_t)(end - p);
		int one = line_read(&used, p, n, retother, r < 0 ? NULL : reterr);

		if (r == 0) /* the first fault counts; the rest is still looked at for other lines */
			r = one;
		p += n + (newline ? 1 : 0);
	}
	for (size_t i = 0; r == 0 && i < used.n_files; i++)
		r = members_check(used.files[i], reterr);
	if (r < 0)
		return r;
	*ret = used;
	used = (struct used_inputs){ 0 };
	return 0;
}
