/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * libraries.h - the shared libraries that a link in the sandbox needs, and cannot see from there
 *
 * They are copied into a directory where the link looks first (RELINK_LIBRARIES, editor/link/relink.h). Nobody but the linker in
 * the sandbox reads them.
 */

#include <stddef.h>
#include <sys/types.h>

#include "base/fault.h"
#include "module/image.h"

/** libraries_given() - "SONAME=FILE" of the command line, @n of them; 0 or -errno with @reterr */
int libraries_given(const char *const *libraries, size_t n, const char *directory, struct fault *reterr);

/**
 * libraries_own() - those that @program needs of directories that its run path (DT_RUNPATH) or the loader's configuration names,
 * outside of what the sandbox shows
 * The program says which files these are, so they are taken only if they are shared libraries that the sandbox's user may read.
 * @origin: the directory that the program is installed in
 * @uid, @gid: that user; -1: the caller
 * Return: 0, also where one is not found or not taken, which the link says; -errno with @reterr.
 */
int libraries_own(const struct image *program, const char *origin, uid_t uid, gid_t gid,
		  const char *directory, struct fault *reterr);
