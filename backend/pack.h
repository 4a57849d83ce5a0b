/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * pack.h - what the linker left behind becomes one .morph section
 */

#include "backend/linker_options.h"

/**
 * pack_file() - replace the file @path, freshly linked, by its packed form
 * @trace: what ld.lld --trace printed
 * Return: 0; PACK_NOTHING when the link had no IR (@path is as it was); -errno with @reterr (likewise).
 */
enum { PACK_NOTHING = 1 };
int pack_file(const char *path, int argc, char **argv, const struct linker_options *options,
	      const char *trace, struct buffer *retrest, struct fault *reterr);
