/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * heat.h - which functions are worth compiling anew
 *
 * Functions by the code that they executed, bytes of their blocks times executions; the hottest are hot
 * until they make up HEAT_SHARE of everything, and then those that executed most for each byte of their code, while the
 * code of all is no more than one in HEAT_TEXT_PART of the text: what the edit of a program costs is in proportion to
 * that. The rest keeps its code as shipped
 * (docs/decisions/0006-the-last-two-permille-stay-as-shipped.md).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"
#include "module/block_map.h"
#include "profiles/store/profile.h"

#define HEAT_SHARE 0.998
#define HEAT_TEXT_PART 6u

struct heat;

/** heat_new() - @shipped: the map of the shipped file; NULL: out of memory. Cost: O(blocks log blocks) */
struct heat *heat_new(const struct block_map *shipped, const struct profile *profile);
void heat_free(struct heat *heat); /* accepts NULL */
DEFINE_CLEANUP(struct heat *, heat_free);
/** heat_has() - is the IR function of that GUID hot? */
bool heat_has(const struct heat *heat, uint64_t guid);

/** heat_executions() - of a block by the profile: those of the probe in it that ran most */
double heat_executions(const struct block_map *map, const struct block *block, const struct profile *profile);

/** heat_count() - give the blocks of functions that were compiled without counts those of the profile */
void heat_count(struct block_map *map, const struct profile *profile);
