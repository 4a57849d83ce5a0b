/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * cc.h - `morph-cc`, `morph-c++`, `morph cc`: clang with a few more flags
 *
 * Compiling, an object gets IR beside its machine code (-flto=thin -ffat-lto-objects); linking, clang
 * runs morph-ld. Whatever makes no object, program or library, or is for another kind of target,
 * passes as clang does it. What the caller says about LTO, levels and output kinds is followed.
 *
 * Called by a name of GCC's (masquerade.h), clang still does the work, with GCC's leniency and without the options that only
 * concern GCC (gcc_options.h). What it cannot do, and what would get no IR anyway, is left to the GCC of that name, unchanged;
 * the build's report (build_report.h) says so.
 */

#include <stdbool.h>

/** cc_become() - replaces the process by clang; @argv[0] is skipped. Returns an exit status on failure. */
int cc_become(int argc, char *const argv[], bool is_cxx);
/** cc_become_named() - the same as the compiler that argv[0] names; GCC may follow on clang. Or a link by its record (relink.h) */
int cc_become_named(int argc, char *const argv[]);
