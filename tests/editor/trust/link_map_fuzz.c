/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What ld.lld is said to have said: a map, then behind a zero byte what it folded. The names in it are a program's. Whatever is read, two
 * readings of the same are the same, and every part that the map names is found.
 */

#define _GNU_SOURCE
#include "editor/trust/link_map.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool nothing_is_new(_unused_ const char *part)
{
	return false;
}

static struct link_map *map_of(int fd, const uint8_t *data, size_t size, const char *folded)
{
	struct link_map *map = NULL;
	struct fault fault;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size ||
	    link_map_read(path, folded, &map, &fault) < 0)
		return NULL;
	return map;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	_clean_(link_map_freep) struct link_map *map = NULL, *again = NULL;
	_clean_(freep) char *text = malloc(size + 1);
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	size_t n = zero ? (size_t)(zero - data) : size;
	const char *folded;
	struct fault fault;

	if (fd < 0)
		fd = memfd_create("map", MFD_CLOEXEC);
	if (fd < 0 || !text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	folded = zero ? text + n + 1 : NULL;
	map = map_of(fd, data, n, folded);
	again = map ? map_of(fd, data, n, folded) : NULL;
	if (!map)
		return 0;
	if (!again || link_map_compare(map, again, nothing_is_new, &fault) < 0)
		abort();
	link_map_has(map, "a.o", ".text.f");
	link_map_defines(map, "a.o", "f");
	link_map_section(map, "f");
	return 0;
}
