/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-mutant --classes
 * bench-mutant --extract PROGRAM DIRECTORY
 * bench-mutant PROGRAM OUT CLASS SEED [--other PROGRAM] [--plants DIRECTORY] [--module N FILE]
 *
 * The first prints the names of the classes, the second writes the modules as DIRECTORY/N.bc, the third writes a mutant and
 * prints what was done; exit status 3: the program has nothing of that kind. `module` is the class of a
 * module that is FILE's.
 */

#define _GNU_SOURCE
#include "bench/security/mutant.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/file.h"
#include "base/sha256.h"
#include "module/image_edit.h"

#define NOTHING_OF_THE_KIND 3

uint64_t mutant_draw(struct mutant *m, uint64_t below)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return below ? (m->random >> 11) % below : m->random;
}

int mutant_says(struct mutant *m, const char *fmt, ...)
{
	size_t n = strlen(m->what);
	va_list arguments;

	va_start(arguments, fmt);
	vsnprintf(m->what + n, sizeof(m->what) - n, fmt, arguments);
	va_end(arguments);
	return 0;
}

void mutant_bytes(struct mutant *m, uint8_t *bytes, size_t *size)
{
	static const uint32_t words[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe };
	size_t at = mutant_draw(m, *size), from = mutant_draw(m, *size);
	size_t n = MIN(1 + mutant_draw(m, 32), *size - MAX(at, from));
	unsigned kind = (unsigned)mutant_draw(m, 6);

	mutant_says(m, "%s%s at %zu of %zu", m->what[0] ? ", " : "",
		    (const char *[]){ "bit", "bit", "byte", "word", "stretch", "end" }[kind], at, *size);
	switch (kind) {
	case 2: bytes[at] = (uint8_t)mutant_draw(m, 256); break;
	case 3: memcpy(bytes + at, &words[mutant_draw(m, ARRAY_SIZE(words))], MIN(4u, *size - at)); break;
	case 4: memmove(bytes + at, bytes + from, n); break;
	case 5:
		if (mutant_draw(m, 4) == 0)
			*size = MAX(*size - mutant_draw(m, *size / 4 + 1), 4u);
		/* fallthrough */
	default: bytes[at % *size] ^= (uint8_t)(1u << mutant_draw(m, 8));
	}
}

/* An attacker names the hash of what he made. */
static int ir_hash_add(const struct mutant *m, struct buffer *ret)
{
	_clean_(sha256_freep) struct sha256 *hash = sha256_new();
	uint8_t bytes[SHA256_BYTES];
	int r;

	if (!hash)
		return -ENOMEM;
	for (size_t i = 0; i < m->data->n_modules; i++)
		sha256_add(hash, m->data->modules[i].bitcode, m->data->modules[i].size);
	r = sha256_end(hash, bytes);
	buffer_bytes(ret, bytes, sizeof(bytes));
	return r;
}

/* Modules that were changed are stored, not modelled: that is allowed, and much faster. */
static int payload_make(const struct mutant *m, struct buffer *ret)
{
	int r = morph_data_encode_head(m->data, ret);

	if (r == 0)
		r = ir_hash_add(m, ret);
	if (r < 0)
		return r;
	buffer_u8(ret, 0);
	for (size_t i = 0; i < m->data->n_modules; i++)
		buffer_bytes(ret, m->data->modules[i].bitcode, m->data->modules[i].size);
	return ret->bad ? -ENOMEM : 0;
}

/* One section .morph makes way for another: image_edit() adds only what is not there. */
static int mutant_write(const struct image *image, const void *payload, size_t size, const char *path,
			struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer container = { 0 }, without = { 0 }, file = { 0 };
	_clean_(image_freep) struct image *bare = NULL;
	const char *const drop[] = { MORPH_SECTION, NULL }, *const none[] = { NULL };
	int r = container_pack(CONTAINER_MORPH, MORPH_DATA_VERSION, payload, size, 1, &container);
	struct image_new_section section = { MORPH_SECTION, SHT_PROGBITS, container.data, container.size };

	if (r < 0)
		return fault_errno(reterr, r, "packing");
	r = image_edit(image, drop, NULL, 0, &without, reterr);
	if (r == 0)
		r = file_write(path, without.data, without.size, 0755, reterr);
	if (r == 0)
		r = image_open(path, &bare, reterr);
	if (r == 0)
		r = image_edit(bare, none, &section, 1, &file, reterr);
	return r < 0 ? r : file_write(path, file.data, file.size, 0755, reterr);
}

/* Not of any field: the payload as it lies there, with its modelled modules. */
static int payload_damage(struct mutant *m, const struct image *image, const char *path, struct fault *reterr)
{
	struct buffer *payload = &m->data->payload;
	size_t size = payload->size, n = mutant_draw(m, 2) ? 1 : 1 + mutant_draw(m, 8);
	uint8_t *bytes = arena_array(m->arena, uint8_t, size);

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, payload->data, size);
	while (n--)
		mutant_bytes(m, bytes, &size);
	return mutant_write(image, bytes, size, path, reterr);
}

static const struct mutant_class *class_find(const char *name)
{
	const struct mutant_class *const all[] = { mutant_plan_classes, mutant_data_classes,
						   mutant_object_classes };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		for (const struct mutant_class *c = all[i]; c->name; c++)
			if (strcmp(c->name, name) == 0)
				return c;
	return NULL;
}

static int classes_print(void)
{
	const struct mutant_class *const all[] = { mutant_plan_classes, mutant_data_classes,
						   mutant_object_classes };

	puts("payload");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		for (const struct mutant_class *c = all[i]; c->name; c++)
			puts(c->name);
	return 0;
}

static int program_open(const char *path, struct image **retimage, struct morph_data **ret,
			struct fault *reterr)
{
	int r = image_open(path, retimage, reterr);

	if (r == 0)
		r = morph_data_load(*retimage, "/nonexistent", ret, reterr);
	return r == 0 ? morph_data_unpack(*ret, reterr) : r;
}

static int extract(const char *program, const char *directory, struct fault *reterr)
{
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	_clean_(image_freep) struct image *image = NULL;
	char path[PATH_MAX];
	int r = program_open(program, &image, &data, reterr);

	for (size_t i = 0; r == 0 && i < data->n_modules; i++) {
		snprintf(path, sizeof(path), "%s/%zu.bc", directory, i);
		r = file_write(path, data->modules[i].bitcode, data->modules[i].size, 0644, reterr);
	}
	return r;
}

static int module_replace(struct mutant *m, size_t n, const char *path, struct fault *reterr)
{
	struct file_map map;
	uint8_t *copy;
	int r;

	if (n >= m->data->n_modules)
		return MUTANT_NONE;
	r = file_map_open(path, &map, reterr);
	if (r < 0)
		return r;
	copy = arena_array(m->arena, uint8_t, map.size);
	if (copy)
		memcpy(copy, map.data, map.size);
	m->data->modules[n].bitcode = copy;
	m->data->modules[n].size = map.size;
	file_map_done(&map);
	return copy ? mutant_says(m, "module %zu", n) : -ENOMEM;
}

struct arguments {
	const char *program, *out, *class, *other, *plants, *module;
	uint64_t seed;
	size_t n_module;
};

static int make(const struct arguments *a, struct fault *reterr)
{
	_clean_(morph_data_freep) struct morph_data *data = NULL, *other = NULL;
	_clean_(image_freep) struct image *image = NULL, *other_image = NULL;
	_clean_(arena_freep) struct arena *arena = arena_new();
	_clean_(buffer_donep) struct buffer payload = { 0 };
	const struct mutant_class *class = class_find(a->class);
	struct mutant m = { .arena = arena,
			    .plants = a->plants,
			    .random = (a->seed + 1) * 0x9e3779b97f4a7c15u | 1 };
	int r = arena ? program_open(a->program, &image, &data, reterr) : -ENOMEM;

	if (r == 0 && a->other)
		r = program_open(a->other, &other_image, &other, reterr);
	if (r < 0)
		return r;
	m.data = data;
	m.other = other;
	for (unsigned i = 0; i < 8; i++)
		mutant_draw(&m, 0);
	if (strcmp(a->class, "payload") == 0) {
		r = payload_damage(&m, image, a->out, reterr);
	} else {
		r = a->module ? module_replace(&m, a->n_module, a->module, reterr) :
		    class     ? class->make(&m) :
				fault_set(reterr, -EINVAL, "no class \"%s\"", a->class);
		if (r == 0)
			r = payload_make(&m, &payload);
		if (r == 0)
			r = mutant_write(image, payload.data, payload.size, a->out, reterr);
	}
	if (r == 0)
		puts(m.what);
	return r;
}

static int usage(void)
{
	fputs("usage: bench-mutant --classes\n"
	      "       bench-mutant --extract PROGRAM DIRECTORY\n"
	      "       bench-mutant PROGRAM OUT CLASS SEED [--other PROGRAM] [--plants DIRECTORY] [--module N "
	      "FILE]\n",
	      stderr);
	return 2;
}

static bool arguments_parse(int argc, char **argv, struct arguments *ret)
{
	if (argc < 5)
		return false;
	*ret = (struct arguments){ argv[1], argv[2], argv[3], .seed = strtoull(argv[4], NULL, 10) };
	for (int i = 5; i < argc; i++) {
		if (strcmp(argv[i], "--other") == 0 && i + 1 < argc)
			ret->other = argv[++i];
		else if (strcmp(argv[i], "--plants") == 0 && i + 1 < argc)
			ret->plants = argv[++i];
		else if (strcmp(argv[i], "--module") == 0 && i + 2 < argc) {
			ret->n_module = strtoul(argv[i + 1], NULL, 10);
			ret->module = argv[i + 2];
			i += 2;
		} else
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct fault fault = { "no memory" };
	struct arguments arguments;
	int r;

	if (argc == 2 && strcmp(argv[1], "--classes") == 0)
		return classes_print();
	if (argc == 4 && strcmp(argv[1], "--extract") == 0)
		r = extract(argv[2], argv[3], &fault);
	else if (arguments_parse(argc, argv, &arguments))
		r = make(&arguments, &fault);
	else
		return usage();
	if (r == MUTANT_NONE)
		return NOTHING_OF_THE_KIND;
	if (r < 0)
		fprintf(stderr, "bench-mutant: %s\n", fault.text);
	return r < 0;
}
