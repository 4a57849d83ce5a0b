/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * imports.h - calls that leave the file go straight to where they lead
 *
 * A call of a function in another file goes to an entry of the procedure linkage table, which jumps to the address that the
 * dynamic linker wrote for it: a taken branch, on a cache line of its own. Functions that are seen called are marked
 * `nonlazybind`: LLVM calls through the address itself, which is then looked up when the program starts and not at the first
 * call (`-fno-plt` does so to every function). What did not run is bound when it does, as before.
 */

#include <llvm-c/Types.h>
#include <stdint.h>

#include "editor/ir.h"

/**
 * imports_note() - mark what @block calls of @names (symbols_imports()), if it was executed
 * With the first that LLVM calls of its own accord (memcpy, for one), all of that kind are.
 */
void imports_note(LLVMModuleRef module, LLVMBasicBlockRef block, uint64_t executions, const struct name_set *names);
