/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * code_cache.h - code of modules that an earlier check generated from the same bitcode (docs/format-code.md)
 *
 * A directory with a file for each module, named by its key: SHA-256 of the bitcode as code generation is given it, of all options of code
 * generation, and of the compiler (compiler.h). A file that is damaged or another's is as none. One that has other code under the right
 * key is believed: whose the directory must be stands in code_directory.h.
 *
 * It is read before the sandbox is entered (code_directory.h). What is new waits in CODE_CACHE_NEW of the run's own directory.
 */

#include <stdbool.h>

#include "base/file.h"
#include "base/sha256.h"
#include "editor/code/codegen.h"

#define CODE_CACHE_PREFIX "morph-code-" /* of the names of its files; SHA256_TEXT follows */
#define CODE_CACHE_NEW "new-code"

struct code_cache {
	struct code_file {
		char key[SHA256_TEXT];
		struct file_map map;
	} *files; /* owned; sorted by key */
	size_t n, capacity;
};

/** code_cache_sort() - once all files are in it */
void code_cache_sort(struct code_cache *cache);
void code_cache_done(struct code_cache *cache);
static inline void code_cache_donep(struct code_cache *cache)
{
	code_cache_done(cache);
}

/** code_entry_pack() - a file of the cache, appended to @ret; 0 or -ENOMEM, -EFBIG */
int code_entry_pack(const uint8_t key[SHA256_BYTES], const void *object, size_t size, struct buffer *ret);
/**
 * code_entry_unpack() - the object in such a file; foreign bytes
 * @max: bytes of the object
 * @ret: owned by the caller. Return: 0; -EBADMSG, -EPROTONOSUPPORT: damaged, or none; -ESTALE: of another key; -ENOMEM
 */
int code_entry_unpack(const void *bytes, size_t size, const uint8_t key[SHA256_BYTES], uint64_t max,
		      struct buffer *ret);

/**
 * code_cache_run() - codegen_run() of those inputs that @cache does not have
 * @cache: NULL: it has nothing, and nothing is left for it
 * @taken: for each input: may it be taken? And then: was it? Return: as codegen_run().
 */
int code_cache_run(const struct code_cache *cache, const struct codegen_input *inputs, size_t n,
		   const struct codegen_options *options, const char *directory, const char *prefix,
		   bool *taken, struct fault *reterr);
