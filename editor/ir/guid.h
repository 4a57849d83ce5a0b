/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * guid.h - one GUID for each IR function, the same that the block map gave it
 *
 * Static functions of one name in several modules come with one GUID; block_map_make_unique() told them
 * apart in the shipped file, and the profile uses those names. Here the IR follows, module by module in
 * link order, by rewriting the probes, so that generations report under the same GUIDs.
 */

#include <llvm-c/Types.h>

#include "module/block_map.h"

struct guid_table;

struct guid_table *guid_table_new(const struct block_map *shipped);
void guid_table_free(struct guid_table *table); /* accepts NULL */
/** guid_table_unify() - modules must come in link order; 0 or -ENOMEM */
int guid_table_unify(struct guid_table *table, LLVMModuleRef module);

/** guid_of_function() - the GUID of the probes in a function's own blocks; 0: it has none */
uint64_t guid_of_function(LLVMModuleRef module, LLVMValueRef function);
