/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-week DIRECTORY LOGS PLACES PROGRAM...: sample logs of a week in which every PROGRAM ran, LOGS of them into
 * DIRECTORY, each with PLACES places of each program's .text, out of ten times as many that are the program's own. They are
 * drawn by a generator of fixed seed; a program's n-th place has about 1/n of its samples, as real ones nearly have.
 */

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "module/image.h"
#include "profiles/samples/sample_log.h"

#define RATE_HZ 250.0
#define HOUR_NS 3600000000000ull
#define START_NS 1700000000000000000ull

struct program {
	const char *path;
	struct build_id build_id;
	uint64_t offset, size; /* of its code */
};

static uint64_t state = 1;

/* xorshift64: Marsaglia, 2003. */
static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Its @n-th: Fibonacci hashing spreads them. */
static uint64_t place_of(const struct program *program, uint64_t n)
{
	return program->offset + (n * 0x9e3779b97f4a7c15u) % program->size;
}

static int program_read(const char *path, struct program *ret, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	const struct image_section *text;
	int r = image_open(path, &image, reterr);

	if (r < 0)
		return r;
	text = image_section_find(image, ".text");
	if (!text || !text->size)
		return fault_set(reterr, -1, "%s: no .text", path);
	*ret = (struct program){ path, *image_build_id(image), text->offset, text->size };
	return 0;
}

/* Each program is a process in one of a hundred units. */
static void owner_add(struct sample_log *log, size_t i)
{
	char process[32], unit[64];

	snprintf(process, sizeof(process), "p%zu", i);
	snprintf(unit, sizeof(unit), "program-%zu.service", i % 100);
	owners_add(&log->owners, process, unit, 0, log->user / (i + 2) / (i + 2));
}

static int log_make(const char *directory, unsigned number, unsigned places, const struct program *programs,
		    size_t n, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	char path[PATH_MAX];

	if (!log)
		return fault_set(reterr, -1, "no memory");
	log->source = SAMPLE_SOURCE_TICK;
	log->rate_hz = RATE_HZ;
	log->n_cpus = 1;
	log->start_ns = START_NS + number * HOUR_NS;
	log->duration_ns = HOUR_NS;
	for (size_t i = 0; i < n; i++) {
		struct sample_module *module =
			sample_log_module(log, SAMPLE_MODULE_FILE, &programs[i].build_id, programs[i].path,
					  programs[i].size, 0);

		for (unsigned k = 0; module && k < places; k++)
			sample_module_add(module, place_of(&programs[i], draw() % (10u * places)),
					  1 + 1000 / (k + 1));
	}
	sample_log_normalize(log);
	sample_log_balance(log);
	for (size_t i = 0; i < n; i++)
		owner_add(log, i);
	snprintf(path, sizeof(path), "%s/%04u.samples", directory, number);
	return sample_log_write(log, path, reterr);
}

int main(int argc, char **argv)
{
	struct program *programs = calloc((size_t)MAX(argc, 1), sizeof(*programs));
	struct fault fault = { "a directory, numbers of logs and places, and programs" };
	int r = argc > 4 && programs ? 0 : -1;

	for (int i = 4; r == 0 && i < argc; i++)
		r = program_read(argv[i], &programs[i - 4], &fault);
	for (unsigned i = 0; r == 0 && i < strtoul(argv[2], NULL, 10); i++)
		r = log_make(argv[1], i, (unsigned)strtoul(argv[3], NULL, 10), programs, (size_t)argc - 4,
			     &fault);
	if (r < 0)
		fprintf(stderr, "bench-week: %s\n", fault.text);
	free(programs);
	return r < 0;
}
