/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * compiler.h - what makes code here: for keys of what is kept from one process to another
 */

#include "base/sha256.h"

/**
 * compiler_add() - the versions of Morph and LLVM, and the build IDs of all code in this process
 * A distribution's LLVM may change without its version. Return: 0; -ENOENT: some code has no build ID, so nothing can be kept.
 */
int compiler_add(struct sha256 *hash);
