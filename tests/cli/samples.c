/* SPDX-License-Identifier: Apache-2.0 */

/*
 * samples OUT HZ FILE[=PATH] FUNCTION=COUNT...: a sample log that says so many samples fell on the first byte of each
 * function of the ELF file, as of a clock of so many Hz; PATH is what the log calls the file. FUNCTION may be 0xADDRESS;
 * "[jit]=COUNT" is generated code. For tests that want to know what must come out.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "module/image.h"
#include "profiles/samples/sample_log.h"

static uint64_t address_of(const struct image *image, const char *name)
{
	for (size_t i = 0; i < image_n_symbols(image); i++)
		if (strcmp(image_symbol_at(image, i)->name, name) == 0)
			return image_symbol_at(image, i)->address;
	return strtoull(name, NULL, 16);
}

int main(int argc, char **argv)
{
	struct sample_log *log = sample_log_new();
	struct build_id none = { 0 };
	struct sample_module *module;
	struct image *image;
	struct fault fault;
	char *path = argc > 3 ? strchr(argv[3], '=') : NULL;

	if (argc < 5 || !log)
		return 2;
	if (path)
		*path++ = '\0';
	if (image_open(argv[3], &image, &fault) < 0)
		return fprintf(stderr, "%s\n", fault.text), 1;
	log->source = SAMPLE_SOURCE_CPU_CLOCK;
	log->rate_hz = atof(argv[2]);
	log->n_cpus = 1;
	for (int i = 4; i < argc; i++) {
		char *equals = strrchr(argv[i], '=');
		uint64_t address, offset, count = strtoull(equals + 1, NULL, 10);

		*equals = '\0';
		if (strcmp(argv[i], "[jit]") == 0) {
			module = sample_log_module(log, SAMPLE_MODULE_ANONYMOUS, &none, "[anonymous]", 0, 0);
			if (sample_module_add(module, 0, count) < 0)
				return 1;
			continue;
		}
		address = address_of(image, argv[i]);
		module = sample_log_module(log, SAMPLE_MODULE_FILE, image_build_id(image),
					   path ? path : argv[3], (uint64_t)image_stat(image)->st_size, 0);
		if (!image_address_to_offset(image, address, &offset) ||
		    sample_module_add(module, offset, count) < 0)
			return fprintf(stderr, "%s: not in the file\n", argv[i]), 1;
	}
	sample_log_normalize(log);
	sample_log_balance(log);
	if (sample_log_write(log, argv[1], &fault) < 0)
		return fprintf(stderr, "%s\n", fault.text), 1;
	sample_log_free(log);
	image_free(image);
	return 0;
}
