/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * mapped_file.h - from a mapping's name to a module of the catalog
 *
 * The name is what a process saw when it mapped the file; the file may have been replaced, deleted, or
 * live in another mount namespace since. Tried in this order, and believed only when build ID or inode
 * agree with the mapping's: /proc/PID/root/NAME, NAME, /proc/PID/map_files/START-END (privileged).
 * When nothing agrees the module is known by what the mapping itself told.
 */

#include "monitor/identify/catalog.h"

struct mapped_file {
	pid_t pid;
	uint64_t start, end;
	const char *name;	  /* borrowed */
	const char *comm;	  /* borrowed; of the process, names anonymous memory */
	struct build_id build_id; /* size 0: not told */
	uint64_t inode;		  /* 0: not told */
	uint32_t major, minor;	  /* with inode */
};

/** mapped_file_kind() - file, vdso or anonymous, by the name that the kernel gives a mapping */
enum sample_module_kind mapped_file_kind(const char *name);

/** mapped_file_module() - its number; CATALOG_NONE: out of memory. Opens a file once per distinct mapping. */
uint32_t mapped_file_module(struct catalog *catalog, const struct mapped_file *file);
