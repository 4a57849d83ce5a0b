/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * gcc_options.h - options of GCC 12 that clang 22 does not take, or takes for something else
 *
 * What the table does not name goes to clang, which refuses what it does not know; a compiler that is called
 * by a name of GCC's then lets GCC do that command (cc.h).
 */

#include <stdbool.h>

enum gcc_option {
	GCC_OPTION_OURS = 1, /* clang's business */
	GCC_OPTION_DROPPED,  /* without it the code means the same */
	GCC_OPTION_NEEDED,   /* only GCC makes of it what is meant */
	GCC_OPTION_UNKNOWN, /* only clang has it: who asks a compiler of a name of GCC's whether it has is told what GCC says */
};

/**
 * gcc_option_judge() - what becomes of @arg, one word of a command line
 * @retwhy: the reason, static, when it is not GCC_OPTION_OURS
 */
enum gcc_option gcc_option_judge(const char *arg, const char **retwhy);

/** gcc_option_query() - asks the compiler for something that clang does not answer, or not as GCC does */
bool gcc_option_query(const char *arg);
