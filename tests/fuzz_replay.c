/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Stands in for libFuzzer's main: runs the fuzz target once on every file of the corpus directory,
 * and on every prefix of each small file, so that truncation is always covered.
 */

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

#include "base/file.h"

#define MAX_BYTES_FOR_PREFIXES 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const struct file_map *map)
{
	size_t shortest = map->size > MAX_BYTES_FOR_PREFIXES ? map->size : 0;

	for (size_t size = shortest; size <= map->size; size++) {
		/* A copy of the exact size lets AddressSanitizer see the first byte too far. */
		uint8_t *copy = malloc(size ? size : 1);

		if (!copy)
			abort();
		if (size)
			__builtin_memcpy(copy, map->data, size);
		LLVMFuzzerTestOneInput(copy, size);
		free(copy);
	}
}

int main(int argc, char **argv)
{
	unsigned n = 0;
	struct dirent *entry;
	DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;

	if (!dir) {
		fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
		return 2;
	}
	while ((entry = readdir(dir))) {
		_clean_(file_map_donep) struct file_map map = { 0 };
		char path[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		if (file_map_open(path, &map, NULL) < 0)
			return 1;
		replay(&map);
		n++;
	}
	closedir(dir);
	printf("%u inputs replayed\n", n);
	return n ? 0 : 1;
}
