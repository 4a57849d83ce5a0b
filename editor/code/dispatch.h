/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * dispatch.h - blocks that many lead to and that lead to many: the dispatch of an interpreter, a state machine's switch
 *
 * LLVM copies such a block into its predecessors, or all of them share one; which is better hangs on what the registers hold
 * there (docs/decisions/0017-every-instruction-has-its-own-dispatch.md).
 */

#include <llvm-c/Types.h>

#include "base/bytes.h"
#include "base/fault.h"

/* LLVM's code generator (22) copies what has at most so many predecessors or successors without being told to. */
#define DISPATCH_FEW 16u

/** dispatch_share() - of @module's instructions, those of functions that have a block with more than DISPATCH_FEW on either side; 0..1 */
double dispatch_share(LLVMModuleRef module);

/**
 * dispatch_alone() - those functions of @module alone, for what their code is like: it links to nothing
 * @module: loses the others. @ret: bitcode; owned by the caller
 * Return: 0; -EBADMSG, -ENOMEM with @reterr
 */
int dispatch_alone(LLVMModuleRef module, struct buffer *ret, struct fault *reterr);
