/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program's file, hostile from its first byte to its last, and registers that point anywhere into it. The last 16 bytes choose where the
 * sample was and what the registers hold.
 */

#define _GNU_SOURCE
#include "monitor/observe/observer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "monitor/identify/identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct interrupted registers = { .ip = 0x7f0000001000 };
	_clean_(histogram_donep) struct histogram branches = { 0 };
	struct catalog *catalog = catalog_new();
	struct observer *observer = catalog ? observer_new(catalog) : NULL;
	int fd = memfd_create("observer", MFD_CLOEXEC);
	struct identity identity;
	uint64_t chosen[2] = { 0 };
	char path[64];
	uint32_t module;

	if (size >= sizeof(chosen) && observer && fd >= 0 && write(fd, data, size) == (ssize_t)size &&
	    identity_of_fd(fd, &identity) == 0) {
		memcpy(chosen, data + size - sizeof(chosen), sizeof(chosen));
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		module = catalog_add(catalog, SAMPLE_MODULE_FILE, &identity.build_id, path, size, 0);
		for (unsigned i = 0; i < 16; i++)
			registers.general[i] = chosen[1] * i;
		registers.flags = chosen[1];
		for (unsigned i = 0; i < 8; i++)
			observer_look(observer, module, chosen[0] + i, &registers, &branches);
	}
	if (fd >= 0)
		close(fd);
	observer_free(observer);
	catalog_free(catalog);
	return 0;
}
