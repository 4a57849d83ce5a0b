/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * branch_weights.h - how often each side of a branch is taken, as LLVM keeps it ("branch_weights")
 */

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/**
 * branch_weights_read() - @probabilities: one per successor, their sum is 1; untouched when there are none
 * Return: does @terminator have weights that are not all zero? False also when memory is short.
 */
bool branch_weights_read(LLVMValueRef terminator, struct arena *arena, double *probabilities);
