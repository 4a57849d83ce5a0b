/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * dynamic.h - the dynamic section as a loader finds it: by program headers and addresses, whatever section headers say
 *
 * ELF gABI, chapter 5, "Dynamic Section". Everything borrows from the image.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "module/image.h"

struct dynamic {
	const struct image *image;
	size_t entries;	  /* offset in the file */
	size_t n_entries; /* also those behind the first DT_NULL */
	size_t strings;	  /* offset in the file of the string table */
	size_t n_strings; /* bytes */
};

/**
 * dynamic_open() - Return: 0; -ENODATA: @image has none, @ret is zeros; -EBADMSG: damaged. @reterr may be NULL
 */
int dynamic_open(const struct image *image, struct dynamic *ret, struct fault *reterr);
Elf64_Dyn dynamic_at(const struct dynamic *dynamic, size_t i); /* DT_NULL behind the last */
/** dynamic_string() - NULL when it does not lie in the string table, with its end */
const char *dynamic_string(const struct dynamic *dynamic, uint64_t offset);

/**
 * dynamic_run_path() - where the loader looks for libraries: DT_RUNPATH or DT_RPATH, "" when there is neither
 * @retentry: index of the entry; SIZE_MAX: there is none. May be NULL
 * Return: NULL when there are several, or its text is outside of the file.
 */
const char *dynamic_run_path(const struct dynamic *dynamic, size_t *retentry);

/** dynamic_soname() - NULL: the file has none */
const char *dynamic_soname(const struct dynamic *dynamic);

/**
 * dynamic_version_base() - the name of the file among its version definitions: its soname, or, without one, what the linker's
 * output was called: the text behind -o. NULL: it defines no versions
 */
const char *dynamic_version_base(const struct dynamic *dynamic);
