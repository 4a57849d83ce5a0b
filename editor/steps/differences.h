/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * differences.h - which functions of the shipped file do not regenerate, and which modules define them
 */

#include "editor/steps/state.h"

#define EDIT_DIFFERENCES "differences"

/**
 * differences_find() - mark the units that define such functions (unit->differs); where the edit only checks, write
 * the file EDIT_DIFFERENCES of the edit's directory: a line "MODULE\tFUNCTION\n" for each pair
 * MODULE is a number from 0, "-" for none; static functions of one name are all named. No line: the difference is in no function.
 * @again: what was linked of the objects that were regenerated, with its map
 * Return: 0; -errno with @reterr.
 */
int differences_find(struct edit *edit, const struct image *again, const struct block_map *map,
		     struct fault *reterr);
