/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * arguments.h - command lines: growing argument vectors, and @FILE expansion
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"

struct arguments {
	char **v; /* owned strings; NULL-terminated once anything was added */
	size_t n, capacity;
	bool bad; /* out of memory; tested once, at the end */
};

void arguments_add(struct arguments *arguments, const char *text);
void arguments_printf(struct arguments *arguments, const char *fmt, ...) _printf_(2, 3);
void arguments_done(struct arguments *arguments);

/**
 * arguments_expand() - @argv with every @FILE replaced by the arguments in it, as clang and lld read them
 *
 * White space separates, quotes group, a backslash takes the next character as it is. Files may name
 * further files, relative to the working directory. An @FILE that cannot be read stays as it is.
 * Return: 0; -ELOOP: files that name each other; -ENOMEM; @reterr filled.
 */
int arguments_expand(int argc, char *const argv[], struct arguments *ret, struct fault *reterr);
