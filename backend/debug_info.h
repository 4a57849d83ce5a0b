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
#include "module/bitcode_pack.h"

/**
 * debug_info_strip() - run morph-strip-debug over the modules of a link, once
 * @modules: @n modules; one of no bytes is not looked at
 * @ret:     @n buffers, empty; the smaller modules, owned by the caller. One stays empty where a module has no debug
 *           information, or its code depends on it.
 * Return: 0; -errno with @reterr, and all of @ret are empty.
 * Cost: LLVM is loaded once; of each module about what reading it costs LLVM, and twice loop strength reduction where
 * variables are described in a function with loops.
 */
int debug_info_strip(const struct bitcode_span *modules, size_t n, struct buffer *ret, struct fault *reterr);
