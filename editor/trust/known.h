/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * known.h - IR whose code is in the shipped file, and IR whose code is not
 *
 * A module may define what the shipped file does not have from it: functions that nothing refers to, definitions that
 * lost against others of their name, bodies that are there for optimizers only (available_externally). That the
 * shipped file came out the same says nothing about them, so the optimizer must not see them.
 */

#include <llvm-c/Types.h>

#include "base/fault.h"
#include "editor/ir/ir.h"
#include "editor/trust/link_map.h"

/**
 * known_keep() - of what @module defines for others only that stays which the file has from @object
 * @contested: names that several objects define
 * @wrapped: names whose uses the linker leads elsewhere
 * Return: 0; 1: it cannot be told of an alias or of what it names, or @module defines what is wrapped: it must stay as it was
 * shipped; -EBADMSG with @reterr
 */
int known_keep(LLVMModuleRef module, const char *object, const struct link_map *map,
	       const struct name_set *contested, const struct name_set *wrapped, struct fault *reterr);
