/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-exact: exact execution counts as a sample log, for Morph's "complete profile"
 *
 *	bench-exact [--base ADDRESS] BINARY OUT.samples CALLGRIND...
 *
 * Every instruction of BINARY that callgrind saw executing becomes one count at its file offset; the
 * log's source is "exact", so the estimator takes the counts as they are. Of a generation, most of which valgrind does not
 * know as a part of it, ADDRESS is where valgrind loads programs: the first one that `valgrind -q --tool=none cat
 * /proc/self/maps` tells.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/callgrind.h"
#include "module/image.h"
#include "profiles/samples/sample_log.h"

static int log_fill(struct sample_log *log, const struct image *image, const struct callgrind *callgrind,
		    struct fault *reterr)
{
	struct sample_module *module =
		sample_log_module(log, SAMPLE_MODULE_FILE, image_build_id(image), image_path(image), 0, 0);

	for (size_t i = 0; module && i < callgrind->n_counts; i++) {
		const struct callgrind_count *count = &callgrind->counts[i];
		uint64_t offset;

		if (!image_address_to_offset(image, count->address, &offset))
			continue;
		if (sample_module_add(module, offset, count->count) < 0)
			module = NULL;
	}
	if (!module)
		return fault_errno(reterr, -ENOMEM, "%s: counts", image_path(image));
	sample_log_normalize(log);
	if (log->n_modules == 0)
		return fault_set(reterr, -ENODATA,
				 "%s: it ran in none of the callgrind files; was it another file?",
				 image_path(image));
	log->fired = log->user = log->attributed = log->modules[0].total;
	return 0;
}

static int exact_run(char **argv, uint64_t base, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	_clean_(callgrind_done) struct callgrind callgrind = { .base = base };
	int r = image_open(argv[1], &image, reterr);

	if (!log)
		return fault_errno(reterr, -ENOMEM, "sample log");
	for (char **path = argv + 3; r == 0 && *path; path++)
		r = callgrind_read(&callgrind, *path, argv[1][0] == '/' ? argv[1] + 1 : argv[1], reterr);
	if (r < 0)
		return r;
	log->source = SAMPLE_SOURCE_EXACT;
	log->n_cpus = 1;
	log->rate_hz = 1;
	r = log_fill(log, image, &callgrind, reterr);
	/* A few are the loader's. */
	if ((r == 0 || r == -ENODATA) && callgrind.n_lost > log->attributed / 100)
		return fault_set(reterr, -EINVAL,
				 "%s: %llu instructions ran in no object that valgrind knows; of a "
				 "generation say --base",
				 image_path(image), (unsigned long long)callgrind.n_lost);
	return r < 0 ? r : sample_log_write(log, argv[2], reterr);
}

int main(int argc, char **argv)
{
	bool has_base = argc > 2 && strcmp(argv[1], "--base") == 0;
	struct fault fault;

	if (argc < (has_base ? 6 : 4)) {
		fputs("usage: bench-exact [--base ADDRESS] BINARY OUT.samples CALLGRIND...\n", stderr);
		return 2;
	}
	if (exact_run(argv + (has_base ? 2 : 0), has_base ? strtoull(argv[2], NULL, 16) : 0, &fault) < 0) {
		fprintf(stderr, "bench-exact: %s\n", fault.text);
		return 1;
	}
	return 0;
}
