/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * library_path.h - where this machine keeps a shared library, by soname
 */

#include <limits.h>

#include "base/fault.h"

/**
 * library_find() - first hit in the directories of /etc/ld.so.conf and the loader's built-in ones
 * @soname: "libc.so.6", or an absolute path, which is taken as it is
 * Return: 0; -ENOENT with @reterr.
 */
int library_find(const char *soname, char ret[PATH_MAX], struct fault *reterr);
