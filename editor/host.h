/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * host.h - code for the very CPU in the machine, with the same results
 */

#include <llvm-c/Types.h>

/** host_cpu() - LLVM's name of this machine's CPU, e.g. "znver4"; owned by the caller (free()) */
char *host_cpu(void);

/**
 * host_retarget() - let every function of @module use @cpu and, if that is this machine's, its features
 *
 * Functions with a target of their own (`__attribute__((target))`, one of several versions) keep it when the machine lacks some of
 * that, or when it takes something away. Vectors of more than 256 bits are not used.
 * Floating-point results stay what they were: where the shipped target had no fused multiply-add,
 * llvm.fmuladd (which then was a multiplication and an addition) becomes just that, and permission to
 * contract is withdrawn, before the instruction becomes available.
 */
void host_retarget(LLVMModuleRef module, const char *cpu);
