/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * assembly.h - names in assembly, which the IR does not see
 *
 * Assembly at file level and within functions may define symbols, and use others, by name. Such names must
 * stay as they are, and what assembly calls its own must stay in its module.
 */

#include <llvm-c/Types.h>
#include <stdbool.h>

#include "editor/ir/ir.h"

/** assembly_names() - add all words of @module's assembly that may be symbols; 0 or -ENOMEM */
int assembly_names(LLVMModuleRef module, struct name_set *ret);

/** assembly_names_any() - does assembly within @function use one of @names? */
bool assembly_names_any(LLVMValueRef function, const struct name_set *names);

/**
 * assembly_binds() - would the module's assembly be in another's way in the same file?
 * @names: of its assembly. True when file-level assembly does more than give versions to functions and
 * variables defined here (.symver), or when assembly names what is local to the module.
 */
bool assembly_binds(LLVMModuleRef module, const struct name_set *names);

/** assembly_of_others() - what @module's file-level assembly says of symbols it does not define; allocated */
char *assembly_of_others(LLVMModuleRef module);
