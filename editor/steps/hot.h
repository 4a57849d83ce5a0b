/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * hot.h - the hot module as bitcode, and as LLVM's module
 *
 * Code is generated in children, which start with all of our memory: while they run, it is there as bitcode only.
 */

#include "editor/steps/state.h"

/** hot_fold() - edit->hot to edit->hot_bitcode; 0 or -ENOMEM */
int hot_fold(struct edit *edit, struct fault *reterr);
