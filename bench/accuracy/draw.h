/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * draw.h - fewer samples than there are: drawn at random, the same ones every time
 */

#include "profiles/samples/sample_log.h"

#define DRAW_LOGS 6

/**
 * draw_module() - about @want of the module's samples, and of the jumps that were seen from them, each kept with the same
 * odds; all when there are fewer
 * @ret: counts and branches are the caller's (free()); the rest is borrowed. 0 or -ENOMEM
 */
int draw_module(const struct sample_module *module, double want, struct sample_module *ret);

/** draw_logs() - a log dealt out to @n others, of at most DRAW_LOGS; @ret: owned, also when -ENOMEM is returned */
int draw_logs(const struct sample_log *log, unsigned n, uint64_t *random, struct sample_log **ret);
