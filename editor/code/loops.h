/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * loops.h - hot loops start a line of the instruction cache
 *
 * A small loop that lies across two lines costs a fetch more per round, and where it lies is luck. Aligning every
 * loop would cost lines that others need, so only those are marked ("llvm.loop.align") whose head is among what
 * runs most; LLVM pads them if they are entered from above by at most a fifth of their rounds
 * (docs/decisions/0027-hot-loops-start-a-line.md).
 */

#include <llvm-c/Types.h>
#include <stddef.h>
#include <stdint.h>

/**
 * loops_align() - mark the hot loops of an optimized module with counts; functions without stay as they are
 * @executions: of all blocks together (struct annotate_stats)
 * @retmarked:  jumps back to the head of one
 * Return: 0 or -ENOMEM. Cost: O(instructions), and solving a function's frequencies (profiles/fit/markov.h).
 */
int loops_align(LLVMModuleRef module, uint64_t executions, size_t *retmarked);
