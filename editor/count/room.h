/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * room.h - how much room in the instruction cache an edit wins, in which hot code may grow
 *
 * As shipped, lines that are executed hold much that is not. An edit sends that away, so that what is hot takes fewer
 * lines, and copies of callees (inlining.h) take more again. They may have ROOM_TIMES the room that was won, since not all of
 * it runs at a time (docs/decisions/0007-calls-compete-for-copies.md).
 */

#include "module/block_map.h"
#include "profiles/store/profile.h"

/**
 * room_find() - @shipped: the map of the shipped file; @retbytes: >= 0
 * Lines that carry ROOM_SHARE of all executed bytes (layout/score.h: footprint_units()), at least ROOM_FREE_BYTES,
 * less the bytes that do so when nothing else is in them. Return: 0 or -ENOMEM. Cost: O(blocks log blocks)
 */
int room_find(const struct block_map *shipped, const struct profile *profile, double *retbytes);

#define ROOM_SHARE 0.99
#define ROOM_TIMES 2
#define ROOM_FREE_BYTES 4096u /* an eighth of the smallest first-level caches: below that nobody counts */
