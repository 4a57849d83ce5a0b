/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * extract.h - single functions out of a module, as LLVM's assembly language: for people, and for `opt` and `llc`
 */

#include <llvm-c/Types.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "editor/code/partition.h"

/**
 * extract_functions() - append a module with the functions that @wanted names, and what they need, to @ret
 * @module: is consumed. Others' code and variables that they use are declared or local, so the text is complete.
 * Return: 0; -EBADMSG, -ENOMEM with @reterr
 */
int extract_functions(LLVMModuleRef module, partition_is_hot wanted, void *user, struct buffer *ret,
		      struct fault *reterr);
