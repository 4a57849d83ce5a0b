/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * debug_info.h - IR without its debug information, which generations do not need
 *
 * Under -g more than half of a module describes source locations. Code hardly ever depends on it: of 2,030 functions of
 * SQLite 3.40.1, one does; of 736 of Duktape 2.7.0, another one (LLVM 22.1.8). A module with such a function would not
 * regenerate and keeps what it has.
 */

#include "base/bytes.h"
#include "base/fault.h"
#include "module/morph_data.h"

/**
 * debug_info_strip() - run LLVM's `opt` over one module, and `llc` over the module before and after
 * @data: how the link generates code
 * @ret: the smaller module, owned by the caller
 * Return: 0; 1: the module has no debug information, or its code depends on it; -errno with @reterr.
 * Cost: twice the code generation of the module where variables are described, else a run of `opt`.
 */
int debug_info_strip(const struct morph_data *data, const struct morph_module *module, struct buffer *ret,
		     struct fault *reterr);
