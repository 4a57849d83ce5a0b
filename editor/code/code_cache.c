/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/code/code_cache.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/container.h"
#include "base/file.h"
#include "editor/code/compiler.h"
#include "module/bitcode.h"

#define VERSION 1u
#define LEVEL 1 /* of zlib: a hundredth of the time that it saves */

/* Of the bitcode's size: more than an object can take. */
#define OBJECT_RATIO 64u
#define OBJECT_BYTES (64u << 20)

#define MADE "made" /* what objects are called before they have their place */

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct code_file *)a)->key, ((const struct code_file *)b)->key);
}

void code_cache_sort(struct code_cache *cache)
{
	if (cache->n)
		qsort(cache->files, cache->n, sizeof(*cache->files), by_key);
}

void code_cache_done(struct code_cache *cache)
{
	for (size_t i = 0; i < cache->n; i++)
		file_map_done(&cache->files[i].map);
	free(cache->files);
	*cache = (struct code_cache){ 0 };
}

/* ---- a file ---- */

int code_entry_pack(const uint8_t key[SHA256_BYTES], const void *object, size_t size, struct buffer *ret)
{
	_clean_(buffer_donep) struct buffer payload = { 0 };

	buffer_bytes(&payload, key, SHA256_BYTES);
	buffer_bytes(&payload, object, size);
	return payload.bad ? -ENOMEM :
			     container_pack(CONTAINER_CODE, VERSION, payload.data, payload.size, LEVEL, ret);
}

int code_entry_unpack(const void *bytes, size_t size, const uint8_t key[SHA256_BYTES], uint64_t max,
		      struct buffer *ret)
{
	_clean_(buffer_donep) struct buffer payload = { 0 };
	int r = container_unpack_limited(bytes, size, CONTAINER_CODE, VERSION, max + SHA256_BYTES, &payload,
					 NULL);

	if (r < 0)
		return r;
	if (payload.size < SHA256_BYTES)
		return -EBADMSG;
	if (memcmp(payload.data, key, SHA256_BYTES) != 0)
		return -ESTALE;
	buffer_bytes(ret, payload.data + SHA256_BYTES, payload.size - SHA256_BYTES);
	return ret->bad ? -ENOMEM : 0;
}

/* ---- keys ---- */

/* LLVM makes the target of all modules by the triple of the last one (LLVM 22: ThinLTOCodeGenerator::addModule). */
static bool have_one_triple(const struct codegen_input *inputs, size_t n)
{
	struct bitcode_facts first, other;

	for (size_t i = 0; i < n; i++)
		if (bitcode_facts_read(inputs[i].bitcode, inputs[i].size, i ? &other : &first, NULL) < 0 ||
		    (i && strcmp(first.triple, other.triple) != 0))
			return false;
	return true;
}

/* What all inputs share. How many threads there are makes no difference. Return: 0; -ENOENT: there can be no key; -ENOMEM */
static int conditions_make(const struct codegen_options *options, uint8_t ret[SHA256_BYTES])
{
	_clean_(sha256_freep) struct sha256 *hash = sha256_new();
	const char *cpu = options->cpu ? options->cpu : "";
	uint8_t numbers[2] = { (uint8_t)options->opt_level, options->pic };
	int r = hash ? compiler_add(hash) : -ENOMEM;

	if (r < 0)
		return r;
	sha256_add(hash, numbers, sizeof(numbers));
	sha256_add(hash, cpu, strlen(cpu) + 1);
	for (const char *const *o = options->options; o && *o; o++)
		sha256_add(hash, *o, strlen(*o) + 1);
	return sha256_end(hash, ret);
}

static int key_make(const uint8_t conditions[SHA256_BYTES], const struct codegen_input *input,
		    uint8_t ret[SHA256_BYTES])
{
	_clean_(sha256_freep) struct sha256 *hash = sha256_new();

	if (!hash)
		return -ENOMEM;
	sha256_add(hash, conditions, SHA256_BYTES);
	sha256_add(hash, input->bitcode, input->size);
	return sha256_end(hash, ret);
}

/* ---- a run ---- */

/* All borrowed, but keys and made. */
struct run {
	const struct code_cache *cache;
	const char *directory, *prefix;
	const struct codegen_input *inputs;
	uint8_t (*keys)[SHA256_BYTES]; /* one per input */
	size_t *made;		       /* inputs whose code is generated */
	size_t n, n_made;
	bool *taken;
};

static void object_path(const struct run *run, const char *prefix, size_t i, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s-%zu.o", run->directory, prefix, i);
}

/* Return: 1: it was taken; 0: it must be made; -errno */
static int entry_take(const struct run *run, size_t i, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer object = { 0 };
	uint64_t max = OBJECT_RATIO * (uint64_t)run->inputs[i].size + OBJECT_BYTES;
	const struct code_file *file = NULL;
	struct code_file wanted;
	char path[PATH_MAX];
	int r;

	sha256_text(run->keys[i], wanted.key);
	if (run->taken[i] && run->cache->n)
		file = bsearch(&wanted, run->cache->files, run->cache->n, sizeof(wanted), by_key);
	if (!file || code_entry_unpack(file->map.data, file->map.size, run->keys[i], max, &object) < 0)
		return 0;
	object_path(run, run->prefix, i, path);
	r = file_write_scratch(path, object.data, object.size, reterr);
	return r < 0 ? r : 1;
}

static int entries_take(struct run *run, const uint8_t conditions[SHA256_BYTES], struct fault *reterr)
{
	for (size_t i = 0; i < run->n; i++) {
		int r = key_make(conditions, &run->inputs[i], run->keys[i]);

		if (r < 0)
			return fault_errno(reterr, r, "generating code");
		r = entry_take(run, i, reterr);
		if (r < 0)
			return r;
		run->taken[i] = r;
		if (!r)
			run->made[run->n_made++] = i;
	}
	return 0;
}

/* The @k-th that was made, to its place, and for the cache. */
static int entry_keep(const struct run *run, size_t k, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer entry = { 0 };
	_clean_(file_map_donep) struct file_map map = { 0 };
	char from[PATH_MAX], to[PATH_MAX], key[SHA256_TEXT];
	size_t i = run->made[k];
	int r;

	object_path(run, MADE, k, from);
	object_path(run, run->prefix, i, to);
	if (rename(from, to) < 0)
		return fault_errno(reterr, -errno, "%s", from);
	r = file_map_open(to, &map, reterr);
	if (r < 0)
		return r;
	r = code_entry_pack(run->keys[i], map.data, map.size, &entry);
	if (r < 0)
		return fault_errno(reterr, r, "%s", to);
	snprintf(to, sizeof(to), "%s/" CODE_CACHE_NEW "/" CODE_CACHE_PREFIX "%s", run->directory,
		 sha256_text(run->keys[i], key));
	return file_write_scratch(to, entry.data, entry.size, reterr);
}

static int rest_make(const struct run *run, const struct codegen_options *options, struct fault *reterr)
{
	struct codegen_input *inputs = calloc(run->n_made, sizeof(*inputs));
	char path[PATH_MAX];
	int r = inputs ? 0 : fault_errno(reterr, -ENOMEM, "generating code");

	for (size_t k = 0; k < run->n_made && r == 0; k++)
		inputs[k] = run->inputs[run->made[k]];
	snprintf(path, sizeof(path), "%s/" CODE_CACHE_NEW, run->directory);
	if (r == 0 && mkdir(path, 0700) < 0 && errno != EEXIST)
		r = fault_errno(reterr, -errno, "%s", path);
	if (r == 0)
		r = codegen_run(inputs, run->n_made, options, run->directory, MADE, reterr);
	for (size_t k = 0; k < run->n_made && r == 0; k++)
		r = entry_keep(run, k, reterr);
	free(inputs);
	return r;
}

static int plain_run(const struct run *run, const struct codegen_options *options, struct fault *reterr)
{
	memset(run->taken, 0, run->n * sizeof(*run->taken));
	return codegen_run(run->inputs, run->n, options, run->directory, run->prefix, reterr);
}

int code_cache_run(const struct code_cache *cache, const struct codegen_input *inputs, size_t n,
		   const struct codegen_options *options, const char *directory, const char *prefix,
		   bool *taken, struct fault *reterr)
{
	struct run run = { cache, directory, prefix, inputs, .n = n, .taken = taken };
	uint8_t conditions[SHA256_BYTES];
	int r = cache && have_one_triple(inputs, n) ? conditions_make(options, conditions) : -ENOENT;

	if (r == -ENOENT)
		return plain_run(&run, options, reterr);
	run.keys = calloc(n + 1, sizeof(*run.keys));
	run.made = calloc(n + 1, sizeof(*run.made));
	if (r < 0 || !run.keys || !run.made)
		r = fault_errno(reterr, -ENOMEM, "generating code");
	if (r == 0)
		r = entries_take(&run, conditions, reterr);
	if (r == 0 && run.n_made)
		r = rest_make(&run, options, reterr);
	free(run.keys);
	free(run.made);
	return r;
}
