/* SPDX-License-Identifier: Apache-2.0 */

/* A line of a crash report, about this very program. */

#define _GNU_SOURCE
#include <string.h>

#include "debug/crash_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image *image;
	struct crash_line line;
	struct fault fault;
	char *text = strndup((const char *)data, size);

	if (!image && image_open("/proc/self/exe", &image, &fault) < 0)
		__builtin_trap();
	if (text)
		crash_line_find(text, "vm", image, 0x1000, &line);
	free(text);
	return 0;
}
