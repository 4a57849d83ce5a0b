/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A line of a crash report, about the file that the kernel maps into every program: it has a dozen symbols, so that a run
 * takes the time of reading a line, and not of walking a large table.
 */

#define _GNU_SOURCE
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "debug/crash_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct image *vdso_open(void)
{
	const Elf64_Ehdr *vdso = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct image *image;
	struct fault fault;

	/* Its section headers come last. */
	if (!vdso ||
	    image_open_bytes(vdso, vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize, "vdso", &image,
			     &fault) < 0 ||
	    image_n_symbols(image) == 0)
		__builtin_trap();
	return image;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image *image;
	struct crash_line line;
	char *text = strndup((const char *)data, size);

	if (!image)
		image = vdso_open();
	if (text)
		crash_line_find(text, "vm", image, 0x1000, &line);
	free(text);
	return 0;
}
