/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * extern_inline.h - inline functions of the C library that clang makes part of an object, and GCC does not
 *
 * The C library's headers define some functions (pthread_equal(), atoi(), ...) as `extern inline` with GCC's meaning
 * (`gnu_inline`): for the optimizer alone, never code of an object. Where the source says `#pragma weak` of one, as gnulib
 * and libxml2 do of pthread_equal(), clang makes it a weak definition all the same, and a library exports one symbol more
 * than what GCC makes: dpkg-gensymbols then ends the build.
 */

#include "base/fault.h"

/**
 * extern_inline_mend() - @command, clang's, compiled C to the object @path: where that is so, once more without such functions
 * Known by that an object defines weak functions, and with __NO_INLINE__ fewer of them. Nothing else is compiled twice.
 * @retname: one of them, owned by the caller. Return: 1: @path was replaced; 0: as it is; -errno with @reterr, @path as it was
 */
int extern_inline_mend(char *const command[], const char *path, char **retname, struct fault *reterr);
