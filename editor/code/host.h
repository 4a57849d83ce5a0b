/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * host.h - code for the very CPU in the machine, with the same results
 */

#include <llvm-c/Types.h>
#include <stdbool.h>

/**
 * host_cpu() - what code for this machine may use, by LLVM's name; owned by the caller (free()), NULL when memory is short
 * On x86-64 the highest of the psABI's levels that the machine has, up to x86-64-v3; elsewhere its very CPU.
 */
char *host_cpu(void);
/** host_tune() - LLVM's name of this machine's CPU, e.g. "znver4"; likewise */
char *host_tune(void);

/**
 * host_knows() - is @name a CPU of this machine's architecture that LLVM knows?
 * It has no other way to say so than to print a warning: a child asks, whose standard error is looked at.
 */
bool host_knows(const char *name);

/**
 * host_retarget() - let every function of @module use what @cpu has, scheduled for @tune
 *
 * What a function adds to its target, or takes away from it, stays added or taken away. Floating-point results stay what they
 * were: where the shipped target had no fused multiply-add, llvm.fmuladd (which then was a multiplication and an addition)
 * becomes just that, and permission to contract is withdrawn, before the instruction becomes available. MOVBE is left out
 * where the function does not ask for it (docs/decisions/0024-generations-are-for-this-cpu.md).
 */
void host_retarget(LLVMModuleRef module, const char *cpu, const char *tune);

/** host_vectors_limit() - LLVM's passes make vectors of no more than @bits; what is vectorized already stays as it is */
void host_vectors_limit(LLVMModuleRef module, unsigned bits);
