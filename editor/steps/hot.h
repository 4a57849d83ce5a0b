/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * hot.h - the hot module as bitcode, and as LLVM's module
 *
 * While others generate code, it is there as bitcode only: it takes ten times as much memory otherwise.
 */

#include "editor/steps/state.h"

/**
 * hot_add() - the next module's hot half; consumes @half
 * hot_join() - edit->hot is all that was added; NULL: nothing was
 * LLVM looks through the module that it links another one into, each time. So halves are linked into parts, and these into the
 * whole, which is looked through once a part. Return: 0; -EBADMSG with @reterr when modules contradict.
 */
int hot_add(struct edit *edit, LLVMModuleRef half, struct fault *reterr);
int hot_join(struct edit *edit, struct fault *reterr);

/** hot_fold() - edit->hot to edit->hot_bitcode; 0 or -ENOMEM */
int hot_fold(struct edit *edit, struct fault *reterr);
