/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * imports.h - calls that leave the file go straight to where they lead
 *
 * A call of a function in another file goes to an entry of the procedure linkage table, which jumps to the address that the
 * dynamic linker wrote for it: a taken branch, on a cache line of its own. Functions that were seen called are marked
 * `nonlazybind`: LLVM calls through the address itself, which is then looked up when the program starts and not at the first
 * call (`-fno-plt` does so to every function). What did not run is bound when it does, as before.
 */

#include <llvm-c/Types.h>
#include <stddef.h>
#include <stdint.h>

#include "editor/ir/ir.h"

struct imports;

/** imports_new() - @names: of the functions to watch for (symbols_imports()); must outlive it. NULL: no memory */
struct imports *imports_new(LLVMModuleRef module, const struct name_set *names);
void imports_free(struct imports *imports); /* accepts NULL */
DEFINE_CLEANUP(struct imports *, imports_free);

/** imports_note() - @block ran @executions times; 0 or -ENOMEM. @user is a struct imports (struct annotate_visitor) */
int imports_note(LLVMBasicBlockRef block, uint64_t executions, void *user);

/**
 * imports_mark() - mark what is called at least @seen times: counts below what one sample stands for are a guess
 * If LLVM's own calls (memcpy, for one) are among that, all of them are. Return: how many
 */
size_t imports_mark(const struct imports *imports, double seen);
