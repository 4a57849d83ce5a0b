/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * kept.h - functions that were asked to keep their shipped code (edit_options.h)
 *
 * A function goes by the name in the profile, which is the one of its source, or by that of its symbol ("turn", "turn.llvm.7").
 */

#include "editor/steps/state.h"

/** kept_note() - IR names of those that @module defines into a new @ret; the report says what is known of each. 0 or -ENOMEM */
int kept_note(struct edit *edit, LLVMModuleRef module, struct name_set **ret);

/** kept_check() - after all modules: is one missing that must be there? 0; -ENOENT with @reterr */
int kept_check(const struct edit *edit, struct fault *reterr);
