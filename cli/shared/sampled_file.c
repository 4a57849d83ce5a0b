/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/sampled_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/shared/debug_symbols.h"
#include "module/array.h"

bool sampled_is(const struct sample_module *module, const struct image *image)
{
	const struct build_id *id = image_build_id(image);
	const struct stat *st = image_stat(image);
	_clean_(freep) char *full = NULL;

	if (module->kind != SAMPLE_MODULE_FILE)
		return false;
	if (id->size || module->build_id.size)
		return build_id_is_equal(id, &module->build_id);
	if (module->file_size != (uint64_t)st->st_size ||
	    (module->mtime_ns && module->mtime_ns != (uint64_t)stat_mtime_ns(st)))
		return false;
	full = realpath(image_path(image), NULL);
	return full && module->path && strcmp(module->path, full) == 0;
}

bool sampled_is_asked_for(const struct sample_module *module, struct image *const *images, size_t n,
			  bool *seen)
{
	for (size_t i = 0; i < n; i++)
		if (sampled_is(module, images[i])) {
			seen[i] = true;
			return true;
		}
	return !n;
}

/* Without a build ID, a copy elsewhere cannot be known to be the same file. */
enum sampled_state sampled_image_open(const struct sample_module *module, char *const *copies, size_t n,
				      struct image **ret)
{
	enum sampled_state state = SAMPLED_GONE;

	if (module->kind != SAMPLE_MODULE_FILE)
		return SAMPLED_NO_FILE;
	for (size_t i = 0; i <= n; i++) {
		_clean_(image_freep) struct image *image = NULL;
		const char *path = i < n ? copies[i] : module->path;

		/* A relative path, or one of another mount namespace, would be looked up from where we are. */
		if (i == n && (path[0] != '/' || (module->space && !module->build_id.size)))
			break;
		if (image_open(path, &image, NULL) < 0)
			continue;
		if (sampled_is(module, image)) {
			*ret = TAKE(image);
			return SAMPLED_FILE;
		}
		state = i == n ? SAMPLED_REPLACED : state;
	}
	return state;
}

/* --- names ---------------------------------------------------------------------------------------- */

struct named_range {
	const char *name;
	size_t range;
};

static int compare(const void *pa, const void *pb)
{
	const struct named_range *a = pa, *b = pb;
	int order = strcmp(a->name, b->name);

	return order ? order : a->range < b->range ? -1 : a->range > b->range;
}

static const char *numbered(struct arena *arena, const char *name, size_t number)
{
	size_t room = strlen(name) + 24;
	char *text = arena_alloc(arena, room, 1);

	if (text)
		snprintf(text, room, "%s#%zu", name, number);
	return text;
}

static int names_make(struct sampled_file *file)
{
	_clean_(freep) struct named_range *named = calloc(file->n + 1, sizeof(*named));
	size_t n = 0;

	file->names = arena_array(file->arena, const char *, file->n + 1);
	if (!named || !file->names)
		return -ENOMEM;
	for (size_t i = 0; i < file->n; i++) {
		char address[24];

		snprintf(address, sizeof(address), "0x%" PRIx64, file->ranges[i].start);
		file->names[i] = file->ranges[i].name ? file->ranges[i].name :
							arena_strndup(file->arena, address, strlen(address));
		if (!file->names[i])
			return -ENOMEM;
		named[n++] = (struct named_range){ file->names[i], i };
	}
	if (n)
		qsort(named, n, sizeof(*named), compare);
	for (size_t i = 1, number = 1; i < n; i++) {
		number = strcmp(named[i].name, named[i - 1].name) == 0 ? number + 1 : 1;
		if (number > 1)
			file->names[named[i].range] = numbered(file->arena, named[i].name, number);
		if (!file->names[named[i].range])
			return -ENOMEM;
	}
	return 0;
}

int sampled_file_open(const struct sample_module *module, char *const *copies, size_t n_copies,
		      struct sampled_file *ret)
{
	_clean_(sampled_file_done) struct sampled_file file = { .build_id = module->build_id,
								.path = module->path,
								.file_size = module->file_size };

	file.arena = arena_new();
	if (!file.arena)
		return -ENOMEM;
	file.state = sampled_image_open(module, copies, n_copies, &file.image);
	file.symbols = file.image ? debug_symbols_open(file.image, NULL) : NULL;
	if (file.image && recover_ranges(file.image, file.symbols, &file.ranges, &file.n) < 0)
		return -ENOMEM;
	if (file.image && names_make(&file) < 0)
		return -ENOMEM;
	*ret = file;
	file = (struct sampled_file){ 0 };
	return 0;
}

void sampled_file_done(struct sampled_file *file)
{
	free(file->ranges);
	image_free(file->symbols);
	image_free(file->image);
	arena_free(file->arena);
	*file = (struct sampled_file){ 0 };
}

bool sampled_file_is(const struct sampled_file *file, const struct sample_module *module)
{
	if (file->build_id.size || module->build_id.size)
		return build_id_is_equal(&file->build_id, &module->build_id);
	return file->file_size == module->file_size && strcmp(file->path, module->path) == 0;
}

const char *sampled_function(const struct sampled_file *file, uint64_t offset)
{
	const struct recover_range *range;
	uint64_t address;

	switch (file->state) {
	case SAMPLED_NO_FILE: return "(no file)";
	case SAMPLED_GONE: return "(file cannot be read)";
	case SAMPLED_REPLACED: return "(replaced since)";
	case SAMPLED_FILE: break;
	}
	if (!image_offset_to_address(file->image, offset, &address))
		return "(no code)";
	range = recover_range_at(file->ranges, file->n, address);
	return range ? file->names[range - file->ranges] : "(between functions)";
}

struct sampled_file *sampled_files_find(struct sampled_files *files, const struct sample_module *module)
{
	_clean_(freep) struct sampled_file *file = NULL;

	for (size_t i = 0; i < files->n; i++)
		if (sampled_file_is(files->list[i], module))
			return files->list[i];
	file = calloc(1, sizeof(*file));
	if (!file || !array_reserve(files->list, files->n, &files->capacity) ||
	    sampled_file_open(module, files->copies, files->n_copies, file) < 0)
		return NULL;
	files->list[files->n++] = file;
	return TAKE(file);
}

void sampled_files_done(struct sampled_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		sampled_file_done(files->list[i]);
		free(files->list[i]);
	}
	free(files->list);
	*files = (struct sampled_files){ 0 };
}
