/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * code_hash.h - does this function do what that one of another build does?
 */

#include <stdint.h>

#include "module/image.h"

/**
 * code_hash() - of the instructions from @start to @end, less where they and their targets outside lie
 * Functions of one hash have the same instructions on the same registers in the same order, and jump to the same places within
 * themselves; their constants and displacements may differ. Padding does not count.
 * Return: 0: too few instructions to say anything (short functions are alike by chance), or unknown ones.
 */
uint64_t code_hash(const struct image *image, uint64_t start, uint64_t end);
