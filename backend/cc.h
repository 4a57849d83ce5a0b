/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * cc.h - `morph cc`, `morph c++`: clang with a few more flags
 *
 * Compiling, an object gets IR beside its machine code (-flto=thin -ffat-lto-objects); linking, clang
 * runs morph-ld. Whatever makes no object, program or library, or is for another kind of target,
 * passes as clang does it. What the caller says about LTO, levels and output kinds is followed.
 */

#include <stdbool.h>

/** cc_become() - replaces the process by clang; @argv[0] is skipped. Returns an exit status on failure. */
int cc_become(int argc, char *const argv[], bool is_cxx);
