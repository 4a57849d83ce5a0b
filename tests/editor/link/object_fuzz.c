/* SPDX-License-Identifier: Apache-2.0 */

/* An object file of anybody: what is hot is taken out of it, and its groups are dissolved. */

#define _GNU_SOURCE
#include "editor/link/object.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

static void path_remove(void)
{
	unlink(path);
}

/* In memory, and in place: object.c replaces it when all fits. */
static bool written(const uint8_t *data, size_t size)
{
	_clean_(fd_closep) int fd = -1;

	if (!path[0]) {
		snprintf(path, sizeof(path), "/dev/shm/morph-object-fuzz.%d", getpid());
		atexit(path_remove);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd >= 0 && write(fd, data, size) == (ssize_t)size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(name_set_freep) struct name_set *moved = name_set_new(), *expected = name_set_new();
	struct fault fault;

	if (!moved || !expected || name_set_add(moved, "hot", 3) < 0 || name_set_add(moved, "f.m0", 4) < 0 ||
	    !written(data, size))
		return 0;
	object_give_away(path, moved, ".m0", expected, &fault);
	object_ungroup(path, &fault);
	return 0;
}
