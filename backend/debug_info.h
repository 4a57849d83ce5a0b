/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * debug_info.h - IR without its debug information, which generations do not need
 *
 * Under -g more than half of a module describes source locations. Code hardly ever depends on it: of 2,030 functions of
 * SQLite 3.40.1, one does (LLVM 22.1.8). A module with such a function would not regenerate and keeps what it has.
 */

#include "base/bytes.h"
#include "base/fault.h"

/**
 * debug_info_strip() - run LLVM's `opt` over one module
 * @ret: the smaller module, owned by the caller
 * Return: 0; 1: the module has no debug information, or its code depends on it; -errno with @reterr.
 * Cost: a run of `opt`; two more, with loop strength reduction, where variables are described in a function with loops.
 */
int debug_info_strip(const void *bitcode, size_t size, struct buffer *ret, struct fault *reterr);
