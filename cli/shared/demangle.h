/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * demangle.h - the names of C++ and Rust functions as their programmers wrote them
 *
 * Whoever made a program chose its names, and what reads them (libiberty, as c++filt does) was not written to be attacked:
 * a few hundred bytes can make it print without end. So it runs in a process of its own, which may read its question and
 * write its answer and make no other system call (seccomp(2), strict), and which is ended when it does not answer. Such a
 * name, and one that would be longer than DEMANGLE_BYTES (demangle_child.h), stays as it is.
 *
 * For people. JSON has the symbol as the file has it, and beside it what this makes of it (demangled_json()).
 */

#include <stdbool.h>

#include "base/json.h"

#define DEMANGLE_MS 1000 /* for one answer */
/* So often in a row it may end instead: where there is no seccomp(2) it always does. Then names stay as they are. */
#define DEMANGLE_ENDED 64u
#define DEMANGLE_SILENT 4u /* so often it may not answer; from then on all names stay as they are */

/**
 * demangled() - "main", "geo::area(geo::shape const&)"; of the second function of a name "NAME#2" (sampled_file.h), too
 * Return: @symbol itself, also NULL, where it is no mangled name or nothing is known; else text that lives as long as the program.
 * One question to the process for each name (decision 144 has its cost); the same name again costs a look-up.
 */
const char *demangled(const char *symbol);

/**
 * demangled_is() - may somebody who typed @text mean @symbol? By the symbol, or demangled, with or without parameters
 * Symbols that do not even hold the last word of @text cost nothing.
 */
bool demangled_is(const char *symbol, const char *text);

/** demangled_json() - "demangled": ..., only where it is another text than @symbol, which may be NULL */
void demangled_json(struct json *json, const char *symbol);
