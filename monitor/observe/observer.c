/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/observe/observer.h"

#include <errno.h>
#include <string.h>

#include "arch/interpret.h"
#include "monitor/identify/code_file.h"

#define MAX_STEPS 16u /* instructions per sample */
#define MAX_BRANCHES 4u

struct seen {
	struct code_file *file; /* owned; NULL: cannot be read, or is of no use */
	bool was_opened;
};

struct observer {
	struct catalog *catalog;
	struct seen *modules; /* owned; by module number */
	size_t n_modules;
};

/* What interpret_fetch() and interpret_load() look into. */
struct place {
	struct code_file *file;
	uint64_t shift; /* from addresses in the file to those of the process */
};

struct observer *observer_new(struct catalog *catalog)
{
	struct observer *observer = calloc(1, sizeof(*observer));

	if (observer)
		observer->catalog = catalog;
	return observer;
}

int observer_supported(struct fault *reterr)
{
	return INTERRUPTED_MACHINE != EM_NONE ? 0 :
						fault_set(reterr, -ENOTSUP,
							  "the registers of samples are not interpreted on "
							  "this architecture, so nothing is "
							  "learnt of branches but what hardware tells");
}

void observer_free(struct observer *observer)
{
	if (!observer)
		return;
	for (size_t i = 0; i < observer->n_modules; i++)
		code_file_free(observer->modules[i].file);
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
static struct code_file *file_of(struct observer *observer, uint32_t module)
{
	const struct catalog_module *from = catalog_at(observer->catalog, module);
	struct seen *seen = &observer->modules[module];

	if (!seen->was_opened && from->kind == SAMPLE_MODULE_FILE)
		seen->file = code_file_open(from->path, &from->file, &from->build_id);
	seen->was_opened = true;
	return seen->file;
}

static unsigned interpret_fetch(struct interpreter *m, uint64_t address, uint8_t code[INTERPRET_BYTES])
{
	const struct place *place = m->user;

	memset(code, 0, INTERPRET_BYTES);
	return (unsigned)code_file_read(place->file, CODE_FILE_CODE, address - place->shift, code,
					INTERPRET_BYTES);
}

static bool interpret_load(struct interpreter *m, uint64_t address, unsigned size, uint64_t *ret)
{
	const struct place *place = m->user;

	*ret = 0;
	return code_file_read(place->file, CODE_FILE_CONSTANTS, address - place->shift, ret, size) == size;
}

/* ---- one sample ---- */

int observer_look(struct observer *observer, uint32_t module, uint64_t offset,
		  const struct interrupted *registers, struct histogram *branches)
{
	struct interpreter m;
	struct place place = { 0 };
	uint64_t address;
	unsigned n_branches = 0;
	int r = reserve(observer, module);

	if (r < 0)
		return r;
	place.file = file_of(observer, module);
	if (!place.file || !code_file_address(place.file, offset, &address))
		return 0;
	place.shift = registers->ip - address;
	interpret_start(&m, registers, &place);
	for (unsigned i = 0; r == 0 && i < MAX_STEPS && n_branches < MAX_BRANCHES; i++) {
		uint64_t from = m.ip - place.shift, from_offset, to_offset;
		enum interpret_event event = interpret_step(&m);

		if (event == INTERPRET_STOP)
			break;
		if (event == INTERPRET_NEXT)
			continue;
		n_branches++;
		if (!code_file_offset(place.file, from, &from_offset) ||
		    !code_file_offset(place.file, m.ip - place.shift, &to_offset))
			break; /* out of the module */
		r = histogram_add(branches, module, from_offset, to_offset, 1);
	}
	return r;
}
