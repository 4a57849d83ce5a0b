/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * prefix.h - where the installation is that the running program belongs to
 *
 * An installation may stand under another prefix than the one that the build was told (`cmake --install --prefix`, or moved
 * as a whole). Its programs find each other from the place of the running file, as the kernel knows it (/proc/self/exe):
 * links to it, argv[0], PATH and the current directory have no part in it. A program that runs with more rights than its
 * caller has (AT_SECURE) looks in the configured places only, because its caller may have made another name for it.
 */

#include <limits.h>
#include <stdbool.h>

#include "base/fault.h"

enum prefix_directory { PREFIX_BIN, PREFIX_SBIN, PREFIX_LIBEXEC };

/**
 * prefix_program() - the path of one of Morph's programs
 * @ret: at least PATH_MAX bytes
 *
 * Looked for in the directory of the installation, then beside the running file (a build tree), then where the build was
 * told. Return: 0; -ENOENT with @reterr, @ret being the last of these; -ENAMETOOLONG.
 */
int prefix_program(enum prefix_directory directory, const char *name, char *ret, struct fault *reterr);

/**
 * prefix_directory() - a directory of the installation; of a build tree, its only one
 * @ret: at least PATH_MAX bytes
 */
void prefix_directory(enum prefix_directory directory, char *ret);

/**
 * prefix_config() - the path of a configuration file: PREFIX/etc/morph/NAME if it or NAME.d is there, else /etc/morph/NAME
 * @ret: at least PATH_MAX bytes
 *
 * An installation in /usr has only the latter.
 */
void prefix_config(const char *name, char *ret);

/** prefix_of() - does the file @self belong to an installation? Then @ret is its prefix. For tests, and for the above. */
bool prefix_of(const char *self, char *ret);
