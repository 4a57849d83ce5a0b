/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * objects.h - code generation and links of an edit, in its directory
 */

#include "editor/code/codegen.h"
#include "editor/steps/state.h"

/** edit_path() - of a file in the edit's directory; returns @buffer */
char *edit_path(const struct edit *edit, char buffer[PATH_MAX], const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** unit_suffix() - makes names of the @i-th module unique in the program */
const char *unit_suffix(size_t i, char buffer[32]);
/** unit_base() - file name of the object that the @i-th module as shipped makes */
const char *unit_base(size_t i, char buffer[32]);

/** unit_parse() - the @i-th module as shipped, with what it had lost; the caller's. -EBADMSG and the like with @reterr */
int unit_parse(struct edit *edit, size_t i, LLVMModuleRef *ret, struct fault *reterr);

/**
 * objects_generate() - PREFIX-<i>.o of each input
 * @more: LLVM options, NULL at the end, besides those of every code generation. Errors: codegen_run()'s, -ENOMEM
 */
int objects_generate(struct edit *edit, const struct codegen_input *inputs, size_t n, const char *const *more,
		     const char *prefix, struct fault *reterr);

/** objects_take() - objects_generate() of those that options->code_cache does not have; @taken: as code_cache_run() */
int objects_take(struct edit *edit, const struct codegen_input *inputs, size_t n, const char *const *more,
		 const char *prefix, bool *taken, struct fault *reterr);

/** objects_list() - the program's objects in link order, HOT-0.o first; NULL: no memory; objects_free() frees it */
char **objects_list(struct edit *edit, const char *hot);
void objects_free(char **objects); /* accepts NULL */

/** objects_link() - @retmap: which part of which object is in @out; NULL: not wanted */
int objects_link(struct edit *edit, char **objects, const char *const *options, const char *out,
		 struct link_map **retmap, struct fault *reterr);
/** linked_open() - a file that was just linked, with the linker's block map */
int linked_open(const char *path, struct image **retimage, struct block_map **retmap, struct fault *reterr);
