/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * sampled_file.h - a file of which there are samples, and its functions
 *
 * Functions are told of the very build that was sampled, or not at all: a file that was replaced since has others. They are
 * those of the symbol table; without one those of the unwinder's table, named by their address (profiles/cycles/recover.h).
 * Each has a name of its own: of several of one name (static functions) the second is "NAME#2".
 */

#include "base/arena.h"
#include "module/image.h"
#include "profiles/cycles/recover.h"
#include "profiles/samples/sample_log.h"

enum sampled_state {
	SAMPLED_FILE,	  /* all is there */
	SAMPLED_NO_FILE,  /* kernel, vdso, generated code: nothing to look into */
	SAMPLED_GONE,	  /* cannot be opened, or is no ELF file that can be read */
	SAMPLED_REPLACED, /* another build stands there now */
};

struct sampled_file {
	struct build_id build_id; /* as the samples have it */
	const char *path;	  /* borrowed from the log */
	uint64_t file_size;
	enum sampled_state state;
	struct image *image;	      /* owned; NULL unless SAMPLED_FILE */
	struct image *symbols;	      /* owned; its debug file, or NULL */
	struct recover_range *ranges; /* owned; by address */
	const char **names;	      /* owned by arena; one per range */
	size_t n;
	struct arena *arena;
};

/** sampled_is() - are these the samples of the file @image? By build ID; without one by full path, size and time */
bool sampled_is(const struct sample_module *module, const struct image *image);

/** sampled_is_asked_for() - of one of @images, which is noted in @seen then, or of any if there are none */
bool sampled_is_asked_for(const struct sample_module *module, struct image *const *images, size_t n,
			  bool *seen);

/** sampled_image_open() - the file at their path, or another one in @copies that is the same build, into @ret */
enum sampled_state sampled_image_open(const struct sample_module *module, char *const *copies, size_t n,
				      struct image **ret);

/**
 * sampled_file_open() - of samples: the file at their path, or another one in @copies that is the same build
 * Return: 0, whatever can be told: @ret->state; -ENOMEM. sampled_file_done() frees it. O(symbols log symbols)
 */
int sampled_file_open(const struct sample_module *module, char *const *copies, size_t n_copies,
		      struct sampled_file *ret);
void sampled_file_done(struct sampled_file *file);

/** sampled_file_is() - are these samples of it, too? */
bool sampled_file_is(const struct sampled_file *file, const struct sample_module *module);

/**
 * sampled_function() - the name of the function at @offset of the file
 * Return: borrowed from @file; where nothing is known, why: "(replaced since)"
 */
const char *sampled_function(const struct sampled_file *file, uint64_t offset);

/* All files of some logs, each opened once. Logs must outlive it. */
struct sampled_files {
	char *const *copies; /* borrowed: where else builds may lie */
	size_t n_copies;
	struct sampled_file **list; /* owned */
	size_t n, capacity;
};

/** sampled_files_find() - the one that these are samples of, opened when it is new; NULL: no memory */
struct sampled_file *sampled_files_find(struct sampled_files *files, const struct sample_module *module);
void sampled_files_done(struct sampled_files *files);
