/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * debug_symbols.h - the symbols of a file that was stripped of them
 */

#include "module/image.h"

#define DEBUG_DIRECTORY "/usr/lib/debug"

/**
 * debug_path() - DIRECTORY/.build-id/ab/cdef....debug into @ret, of PATH_MAX bytes
 * @directory: NULL: DEBUG_DIRECTORY. Return: 0; -ENAMETOOLONG
 */
int debug_path(const struct build_id *id, const char *directory, char *ret);

/**
 * debug_symbols_open() - of a file without a symbol table, the one with its build ID below the debug directory
 * @directory: NULL: DEBUG_DIRECTORY. Return: NULL: it has its own, or there is none; else image_free() frees it
 */
struct image *debug_symbols_open(const struct image *image, const char *directory);
