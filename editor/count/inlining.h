/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * inlining.h - which calls get a copy of their callee
 *
 * LLVM's inliner asks of each call alone whether it is hot. With sampled counts much lukewarm code passes that
 * test, so the calls that ran compete here instead: greedily by instructions saved per instruction of growth that runs,
 * as long as a copy earns its place and all of them find room (room.h; Arnold, Fink, Sarkar, Sweeney: A Comparative
 * Study of Static and Profile-Based Heuristics for Inlining, DYNAMO 2000, have a budget as well). Chosen calls are marked
 * `alwaysinline`, the other candidates `noinline`. LLVM's inliner does the copying, and decides for itself only where
 * no count is known or the call was no candidate.
 */

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

struct inlining;

struct inlining_stats {
	size_t n_calls, n_chosen; /* candidates: direct calls that ran and could be inlined; of them to be */
	uint64_t size, growth;	  /* of the module before, and of the copies, in IR instructions */
	double room;		  /* what the copies might have been together, likewise */
	double executed,
		saved; /* instructions executed, and of them those that the copies save, by the counts */
};

/* What a copy must save: this share of all instructions executed, per instruction of its size. */
#define INLINING_PRICE 2e-6

/** inlining_new() - @module: must outlive the result; @price: INLINING_PRICE or another, > 0; NULL when memory is short */
struct inlining *inlining_new(LLVMModuleRef module, double price);
void inlining_free(struct inlining *inlining); /* accepts NULL */
DEFINE_CLEANUP(struct inlining *, inlining_free);

/** inlining_note() - @block ran @executions times; 0 or -ENOMEM. @user is a struct inlining (struct annotate_visitor) */
int inlining_note(LLVMBasicBlockRef block, uint64_t executions, void *user);

/**
 * inlining_pays() - would a copy of @callee earn its place at @call, if that called it @executions times?
 * To be asked when all blocks are noted, of a call that goes through a pointer.
 */
bool inlining_pays(const struct inlining *inlining, LLVMValueRef call, LLVMValueRef callee,
		   uint64_t executions);

/**
 * inlining_choose() - mark the calls
 * @room: bytes of code that all copies together may bring; INFINITY: as many as earn their place
 * Return: 0 or -ENOMEM. The same module and counts give the same choice.
 */
int inlining_choose(struct inlining *inlining, double room, struct inlining_stats *ret);
