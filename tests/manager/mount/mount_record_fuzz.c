/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The order that morphd gives morph-mount, which is root: a record of any content. What is taken has a plain path, the one that was
 * asked for.
 */

#define _GNU_SOURCE
#include "manager/mount/mount_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"

#define PROGRAM "/usr/bin/x"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[64], file[PATH_MAX];

static void directory_remove(void)
{
	unlink(file);
	rmdir(directory);
}

static int file_open(void)
{
	snprintf(directory, sizeof(directory), "/dev/shm/morph-record-fuzz.%d", getpid());
	mkdir(directory, 0700);
	mount_record_file(directory, PROGRAM, MOUNT_RECORD_SUFFIX, file);
	atexit(directory_remove);
	return open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct mount_record record;
	struct fault fault;

	if (fd < 0)
		fd = file_open();
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	if (mount_record_read(directory, PROGRAM, &record, &fault) < 0)
		return 0;
	if (strcmp(record.path, PROGRAM) != 0 || !record.build_id || strchr(record.build_id, '/') ||
	    !record.digest || !record.shipped)
		abort();
	mount_record_done(&record);
	return 0;
}
