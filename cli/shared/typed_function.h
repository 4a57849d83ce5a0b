/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * typed_function.h - which function of a file somebody means who typed a name
 *
 * "main", "geo::area" (demangle.h), "init#2" as `morph stats` and `morph diff` show the second of a name (sampled_file.h), or an address, "0x40117a".
 * Of several that a name fits, the one with most samples is meant, a symbol before what is only shown as that.
 */

#include "module/image.h"
#include "profiles/samples/sample_log.h"

/**
 * typed_function() - its address, virtual and not relocated, into @ret; an address that was typed is taken as it is
 * @symbols: the file's debug file (debug_symbols.h); NULL: its own symbols are used
 * Return: 0; -ENOENT: there is none; -ENOMEM. O(symbols log symbols)
 */
int typed_function(const struct image *image, const struct image *symbols, const struct sample_module *module,
		   const char *text, uint64_t *ret);
