/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * commands.h - a program that is several: its first argument names the one
 */

#include <stddef.h>

#include "base/fault.h"

/**
 * struct command - @run gets main()'s arguments, the name at 1; returns negative errno with *@reterr filled in when it fails
 */
struct command {
	const char *name;
	int (*run)(int argc, char **argv, struct fault *reterr);
};

/** commands_main() - what main() returns: 1 when the command failed, 2 when there is none of that name */
int commands_main(const struct command *commands, size_t n, int argc, char **argv);
