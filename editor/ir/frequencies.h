/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * frequencies.h - how often each block of an IR function runs, by its entry count and its branches' weights
 */

#include <llvm-c/Types.h>

#include "editor/ir/ir_graph.h"

/** entry_count_read() - executions of @function by its "function_entry_count"; 0: it has none */
double entry_count_read(LLVMValueRef function);
/** entry_count_write() - instead of what it has; at least 1: what has a count did run */
void entry_count_write(LLVMValueRef function, double entries);

/**
 * frequencies_find() - @retfrequencies: per block, executions when the function is entered @entries times; from @arena; NULL
 * where it is too much work. Branches without weights go to all sides alike.
 * Return: 0 or -ENOMEM. Cost: profiles/fit/markov.h.
 */
int frequencies_find(struct arena *arena, const struct ir_graph *graph, double entries,
		     double **retfrequencies);
