/* SPDX-License-Identifier: Apache-2.0 */

/*
 * manager-samples OUT PROGRAM PATH COUNT [START_NS]: a sample log as the monitor writes it, in which
 * PROGRAM (read here for its build ID) was found COUNT times at PATH, at the start of its code.
 */

#include <stdio.h>
#include <stdlib.h>

#include "module/image.h"
#include "profiles/sample_log.h"

static int write_log(char **argv, uint64_t start_ns, struct fault *fault)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	uint64_t count = strtoull(argv[4], NULL, 10), offset = 0;
	const struct image_section *text;
	struct sample_module *module;
	int r = image_open(argv[2], &image, fault);

	if (r < 0)
		return r;
	text = image_section_find(image, ".text");
	module = sample_log_module(log, SAMPLE_MODULE_FILE, image_build_id(image), argv[3], 0, 0);
	offset = text ? text->offset : 0;
	for (unsigned i = 0; i < 4; i++)
		sample_module_add(module, offset + 4 * i, count / 4 + (i < count % 4));
	log->source = SAMPLE_SOURCE_CPU_CLOCK;
	log->rate_hz = 250;
	log->start_ns = start_ns;
	log->duration_ns = 1000000000;
	log->n_cpus = 2;
	sample_log_normalize(log);
	log->idle = 100;
	log->user = log->attributed = count;
	log->fired = log->idle + log->user;
	return sample_log_write(log, argv[1], fault);
}

int main(int argc, char **argv)
{
	struct fault fault = { "" };

	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: %s OUT PROGRAM PATH COUNT [START_NS]\n", argv[0]);
		return 2;
	}
	if (write_log(argv, argc == 6 ? strtoull(argv[5], NULL, 10) : 1, &fault) == 0)
		return 0;
	fprintf(stderr, "%s\n", fault.text);
	return 1;
}
