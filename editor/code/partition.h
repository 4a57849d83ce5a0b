/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * partition.h - a module cut in two: what is hot, and what is not
 *
 * Only hot functions are worth compiling anew. The rest of the module keeps its IR, and its code,
 * exactly as shipped. Both halves link to the program that the whole module made: names that cross the
 * cut become hidden symbols (unique through a suffix), constants without identity are copied.
 *
 * Kept in the hot half whatever the counts say: all variables that have an identity, functions whose
 * blocks' addresses are taken, targets of aliases and ifuncs; assembly, what it names,
 * and who uses what is its own. Kept in the cold one: constructors, destructors and their lists, so that
 * program start keeps its order.
 */

#include <llvm-c/Types.h>
#include <stdbool.h>

#include "base/fault.h"
#include "editor/ir/ir.h"

/* Which functions are hot; asked once per function of the whole module. */
typedef bool (*partition_is_hot)(LLVMModuleRef module, LLVMValueRef function, void *user);

/** partition_choose() - add the names of functions that would stay in the hot half; the module is as it was. 0 or -ENOMEM */
int partition_choose(LLVMModuleRef whole, const struct name_set *assembly, partition_is_hot is_hot,
		     void *user, struct name_set *ret);

/**
 * partition_split() - @whole stays the hot half, @retcold gets the other
 * @suffix:  makes names of this module unique in the program, e.g. ".m7"
 * @assembly: names in the module's assembly (assembly.h)
 * @retcold: NULL when every function is hot
 * @moved: names that only the hot half defines now are added
 * @crossing: names that either half now expects from the other are added; they must stay visible
 * Return: 0; -EBADMSG, -ENOMEM with @reterr.
 */
int partition_split(LLVMModuleRef whole, const char *suffix, const struct name_set *assembly,
		    partition_is_hot is_hot, void *user, LLVMModuleRef *retcold, struct name_set *moved,
		    struct name_set *crossing, struct fault *reterr);
