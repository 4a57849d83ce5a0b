/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * passes.h - passes that an edit can do without, as the editor names them
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"

#define PASSES_MAX 32u
#define PASSES_CPU "cpu" /* in place of a pass: instructions that only this CPU has */

struct passes {
	char *names[PASSES_MAX]; /* owned */
	size_t n;
};

/** passes_read() - asks the editor; "cpu" is the last one. passes_done() in any case. Return: 0 or -errno with @reterr */
int passes_read(struct passes *ret, struct fault *reterr);
bool passes_have(const struct passes *passes, const char *name);
void passes_done(struct passes *passes);
static inline void passes_donep(struct passes *passes)
{
	passes_done(passes);
}
