/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * recount.h - counts of an optimized module, found anew
 *
 * LLVM's passes change counts as they change code, each by its own reckoning. Jump threading takes what it copies out of what
 * is left, and what is left of an interpreter's loop then has a fraction of its executions. But each block still carries the
 * probes of what it was made from (copies.h):
 *	1. the compiler's counts, from entry counts and branch weights
 *	2. the profile's, where the compiler's only say how copies share them
 *	3. flow inference over the graph as it is now, and doubts as before
 */

#include <llvm-c/Types.h>

#include "base/fault.h"
#include "profiles/store/profile.h"

/** recount_module() - functions without counts stay as they are; 0 or -ENOMEM. Cost: flow inference of the others */
int recount_module(LLVMModuleRef module, const struct profile *profile, struct fault *reterr);
