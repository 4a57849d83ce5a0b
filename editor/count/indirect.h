/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * indirect.h - where calls through pointers go
 *
 * Clock samples name no targets, but the counts bound them: what enters a function and no direct call explains came
 * through pointers, and what leaves by a call through a pointer enters functions of its type. The likeliest table of
 * calls between the two with these sums is found by iterative proportional fitting (Deming and Stephan: On a Least
 * Squares Adjustment of a Sampled Frequency Table When the Expected Marginal Totals are Known, Annals of Mathematical
 * Statistics 11, 1940). It starts from where the program keeps its pointers (slots.h). A call that mostly goes to
 * one or two functions, of which copies would pay, is told so in the form that LLVM's pgo-icall-prom reads: it compares
 * the pointer and calls directly. A wrong guess costs the comparison.
 */

#include <llvm-c/Types.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "editor/count/inlining.h"
#include "editor/count/slots.h"

struct indirect;

struct indirect_stats {
	size_t n_calls, n_targets; /* calls through pointers that ran; direct ones that they are to get */
	double executed, direct;   /* executions of the calls; of them those of which a target is told */
};

/** indirect_new() - @module, @slots: must outlive the result; NULL when memory is short */
struct indirect *indirect_new(LLVMModuleRef module, const struct slots *slots);
void indirect_free(struct indirect *indirect); /* accepts NULL */
DEFINE_CLEANUP(struct indirect *, indirect_free);

/** indirect_note() - @block ran @executions times; 0 or -ENOMEM. @user is a struct indirect (struct annotate_visitor) */
int indirect_note(LLVMBasicBlockRef block, uint64_t executions, void *user);

/**
 * indirect_mark() - attach value profiles (!prof "VP") to the calls
 * @inlining: has noted the same blocks
 * Return: 0 or -ENOMEM. The same module and counts give the same marks.
 */
int indirect_mark(struct indirect *indirect, const struct inlining *inlining, struct indirect_stats *ret);
