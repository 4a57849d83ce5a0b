/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * link_choice.h - which links are Morph's: LTO costs time that programs that are not installed do not pay back
 *
 *	MORPH_LINK=plain	none, but for MORPH_ONLY
 *	MORPH_ONLY=PATTERNS	only outputs that one of them fits
 *	MORPH_SKIP=PATTERNS	not those that one of them fits; counts more than the others
 *	MORPH_SKIP_PROGRAMS=PATTERNS	the same, but not of shared libraries: where examples are made, modules are that get installed
 *
 * Patterns are separated by colons, as in PATH, and are those of glob(7) with a star that also stands for
 * slashes. One without a slash is compared to the output's name, others to its absolute path.
 */

#include <stdbool.h>

/* The one that does not know what is installed, and guesses. */
#define LINK_CHOICE_GUESS "MORPH_SKIP_PROGRAMS"

/** link_is_plain() - @output: as the linker is told; @is_shared: a library; @retwhy: the variable that says so, static */
bool link_is_plain(const char *output, bool is_shared, const char **retwhy);
