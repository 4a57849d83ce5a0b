/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * library_path.h - where this machine keeps a shared library, by soname
 */

#include <limits.h>

#include "base/fault.h"

/* A program's own directories: those of its DT_RUNPATH or DT_RPATH. */
struct library_search {
	const char *run_path; /* "/usr/lib/a:$ORIGIN/../b"; NULL or "": none */
	const char *origin;   /* the directory of the program as installed: $ORIGIN; NULL: not known */
};

/**
 * library_find() - first hit in the program's own directories, those of /etc/ld.so.conf and the loader's built-in ones
 * @soname: "libc.so.6", or an absolute path, which is taken as it is
 * @search: of the program that needs it; NULL: it has none. Relative directories, and $LIB and $PLATFORM, lead nowhere
 * Return: 0; -ENOENT with @reterr.
 */
int library_find(const char *soname, const struct library_search *search, char ret[PATH_MAX],
		 struct fault *reterr);
