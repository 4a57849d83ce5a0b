/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/observer.h"

#include <errno.h>
#include <string.h>

#include "module/image.h"
#include "monitor/interpret.h"
#include "monitor/perf_event.h"

#define MAX_STEPS 16u	/* instructions per sample */
#define MAX_BRANCHES 4u

struct seen {
	struct image *image; /* owned; NULL: cannot be read, or is of no use */
	bool was_opened;
};

struct observer {
	struct catalog *catalog;
	struct seen *modules; /* owned; by module number */
	size_t n_modules;
};

/* What interpret_fetch() and interpret_load() look into. */
struct place {
	const struct image *image;
	uint64_t shift; /* from addresses in the file to those of the process */
};

struct observer *observer_new(struct catalog *catalog)
{
	struct observer *observer = calloc(1, sizeof(*observer));

	if (observer)
		observer->catalog = catalog;
	return observer;
}

void observer_free(struct observer *observer)
{
	if (!observer)
		return;
	for (size_t i = 0; i < observer->n_modules; i++)
		image_free(observer->modules[i].image);
	free(observer->modules);
	free(observer);
}

static int reserve(struct observer *observer, uint32_t module)
{
	size_t n = MAX((size_t)module + 1, 2 * observer->n_modules);
	struct seen *modules;

	if (module < observer->n_modules)
		return 0;
	modules = reallocarray(observer->modules, n, sizeof(*modules));
	if (!modules)
		return -ENOMEM;
	memset(modules + observer->n_modules, 0, (n - observer->n_modules) * sizeof(*modules));
	observer->modules = modules;
	observer->n_modules = n;
	return 0;
}

/* The file may have been replaced since it was mapped: then its code is another. */
static struct image *module_open(const struct catalog_module *module)
{
	struct image *image = NULL;

	if (module->kind != SAMPLE_MODULE_FILE || image_open(module->path, &image, NULL) < 0)
		return NULL;
	if (image_machine(image) == EM_X86_64 && module->build_id.size &&
	    build_id_is_equal(&module->build_id, image_build_id(image)))
		return image;
	image_free(image);
	return NULL;
}

static const struct image *image_of(struct observer *observer, uint32_t module)
{
	struct seen *seen = &observer->modules[module];

	if (!seen->was_opened)
		seen->image = module_open(catalog_at(observer->catalog, module));
	seen->was_opened = true;
	return seen->image;
}

/* ---- what the interpreter asks for ---- */

/* The segment that holds @address, when it has flags @with and none of @without. */
static const Elf64_Phdr *segment_find(const struct image *image, uint64_t address, uint32_t with, uint32_t without)
{
	for (size_t i = 0; i < image_n_segments(image); i++) {
		const Elf64_Phdr *segment = image_segment_at(image, i);

		if (segment->p_type == PT_LOAD && (segment->p_flags & with) == with && !(segment->p_flags & without) &&
		    address - segment->p_vaddr < segment->p_filesz)
			return segment;
	}
	return NULL;
}

/* As many bytes of the file as there are for @address, at most @size. */
static size_t bytes_read(const struct image *image, uint64_t address, uint32_t with, uint32_t without, void *ret, size_t size)
{
	const Elf64_Phdr *segment = segment_find(image, address, with, without);
	size_t file_size, n;
	const uint8_t *bytes = image_bytes(image, &file_size);
	uint64_t at;

	if (!segment)
		return 0;
	at = segment->p_offset + (address - segment->p_vaddr);
	if (at >= file_size)
		return 0;
	n = (size_t)MIN(MIN(segment->p_filesz - (address - segment->p_vaddr), file_size - at), size);
	memcpy(ret, bytes + at, n);
	return n;
}

static unsigned interpret_fetch(struct interpreter *m, uint64_t address, uint8_t code[INTERPRET_BYTES])
{
	const struct place *place = m->user;

	memset(code, 0, INTERPRET_BYTES);
	return (unsigned)bytes_read(place->image, address - place->shift, PF_X, PF_W, code, INTERPRET_BYTES);
}

static bool interpret_load(struct interpreter *m, uint64_t address, unsigned size, uint64_t *ret)
{
	const struct place *place = m->user;

	*ret = 0;
	return bytes_read(place->image, address - place->shift, PF_R, PF_W, ret, size) == size;
}

/* ---- one sample ---- */

/* The registers as the kernel hands them out: in the order of their bits in PERF_REGISTERS. */
static void registers_take(const uint64_t registers[PERF_N_REGISTERS], struct interpreter *ret)
{
	static const uint8_t numbers[] = { X86_AX, X86_BX, X86_CX, X86_DX, X86_SI, X86_DI, X86_BP, X86_SP };

	for (unsigned i = 0; i < 8; i++) {
		ret->registers[numbers[i]] = registers[i];
		ret->registers[8 + i] = registers[10 + i];
	}
	ret->ip = registers[8];
	ret->flags = (uint32_t)registers[9] & X86_STATUS;
	ret->known_flags = X86_STATUS;
	ret->known = 0xffff;
}

int observer_sample(struct observer *observer, const struct perf_record *record, const struct space_range *range,
		    struct histogram *branches)
{
	struct interpreter m = { 0 };
	struct place place = { 0 };
	uint64_t address;
	unsigned n_branches = 0;
	int r = 0;

	if (record->n_registers != PERF_N_REGISTERS)
		return 0;
	r = reserve(observer, range->module);
	if (r < 0)
		return r;
	place.image = image_of(observer, range->module);
	if (!place.image || !image_offset_to_address(place.image, record->ip - range->start + range->offset, &address))
		return 0;
	place.shift = record->ip - address;
	registers_take(record->registers, &m);
	m.user = &place;
	if (m.ip != record->ip)
		return 0; /* what was interrupted is not what the registers are of */
	for (unsigned i = 0; r == 0 && i < MAX_STEPS && n_branches < MAX_BRANCHES; i++) {
		uint64_t from = m.ip, from_offset, to_offset;
		enum interpret_event event = interpret_step(&m);

		if (event == INTERPRET_STOP)
			break;
		if (event == INTERPRET_NEXT)
			continue;
		n_branches++;
		if (!image_address_to_offset(place.image, from - place.shift, &from_offset) ||
		    !image_address_to_offset(place.image, m.ip - place.shift, &to_offset))
			break; /* out of the module */
		r = histogram_add(branches, range->module, from_offset, to_offset, 1);
	}
	return r;
}
