/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * libraries.h - the shared libraries that a link in the sandbox needs, and cannot see from there
 *
 * They lie in RELINK_LIBRARIES of the work directory, where the link looks first (editor/link/relink.h). Nobody but the linker in
 * the sandbox reads them.
 */

#include <stdbool.h>

#include "base/fault.h"
#include "module/image.h"

/** libraries_given() - "SONAME=FILE" of the command line, @n of them; 0 or -errno with @reterr */
int libraries_given(const char *const *libraries, size_t n, const char *directory, struct fault *reterr);

/**
 * libraries_own() - those that @program needs of directories that its run path (DT_RUNPATH) or the loader's configuration names,
 * outside of what the sandbox shows
 * The program says which files these are, so they are taken only if they are shared libraries.
 * @installed: where the program is installed, absolute: its $ORIGIN
 * @all_may_read: only what every user may read is taken: the sandbox has another user than the caller
 * Return: 0, also where one is not found or not taken, which the link says; -errno with @reterr.
 */
int libraries_own(const struct image *program, const char *installed, bool all_may_read,
		  const char *directory, struct fault *reterr);
