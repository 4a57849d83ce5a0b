/* SPDX-License-Identifier: Apache-2.0 * With --identity PATH: print which file that is, as events name it.
 */

/*
 * manager-samples OUT PROGRAM PATH COUNT [START_NS [FILES]]: a sample log as the monitor writes it, in
 * which PROGRAM (read here for its build ID) was found COUNT times at PATH, at the start of its code.
 * With FILES: so many of them, OUT-1.samples and so on, each with a start of its own.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module/image.h"
#include "profiles/samples/sample_log.h"

/* As the kernel knows the file at @path, if it is still there. */
static struct file_identity file_at(const char *path)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct file_identity file = { 0 };

	if (fd >= 0)
		file_identity_of_fd(fd, &file);
	return file;
}

static int write_log(const char *out, char **argv, uint64_t start_ns, struct fault *fault)
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
	module->file = file_at(argv[3]);
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
	return sample_log_write(log, out, fault);
}

static int write_logs(int argc, char **argv, struct fault *fault)
{
	uint64_t start_ns = argc > 5 ? strtoull(argv[5], NULL, 10) : 1;
	unsigned n = argc > 6 ? (unsigned)atoi(argv[6]) : 0;
	int r = n ? 0 : write_log(argv[1], argv, start_ns, fault);

	for (unsigned i = 1; r == 0 && i <= n; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s-%u.samples", argv[1], i);
		r = write_log(path, argv, start_ns + i, fault);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct fault fault = { "" };

	if (argc == 3 && strcmp(argv[1], "--identity") == 0) {
		struct file_identity file = file_at(argv[2]);

		printf("%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64 "\n", file.device, file.inode,
		       file.changed_ns, file.size);
		return 0;
	}
	if (argc < 5 || argc > 7) {
		fprintf(stderr, "usage: %s OUT PROGRAM PATH COUNT [START_NS [FILES]]\n", argv[0]);
		return 2;
	}
	if (write_logs(argc, argv, &fault) == 0)
		return 0;
	fprintf(stderr, "%s\n", fault.text);
	return 1;
}
