/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-exact: exact execution counts as a sample log, for Morph's "complete profile"
 *
 *	bench-exact BINARY OUT.samples CALLGRIND...
 *
 * Every instruction of BINARY that callgrind saw executing becomes one count at its file offset; the
 * log's source is "exact", so the estimator takes the counts as they are.
 */

#include <errno.h>
#include <stdio.h>

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

static int exact_run(char **argv, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	_clean_(callgrind_done) struct callgrind callgrind = { 0 };
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
	return r < 0 ? r : sample_log_write(log, argv[2], reterr);
}

int main(int argc, char **argv)
{
	struct fault fault;

	if (argc < 4) {
		fputs("usage: bench-exact BINARY OUT.samples CALLGRIND...\n", stderr);
		return 2;
	}
	if (exact_run(argv, &fault) < 0) {
		fprintf(stderr, "bench-exact: %s\n", fault.text);
		return 1;
	}
	return 0;
}
