/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bitcode.h - LLVM bitstreams, as far as storing them needs: where one ends, what it was compiled from
 *
 * Format: LLVM BitCodeFormat.rst. Nothing here knows what instructions mean.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

/** bitcode_is() - does @bytes start with the magic of a bitstream of IR? */
bool bitcode_is(const void *bytes, size_t size);

/**
 * bitcode_size() - length of the module that starts at @bytes, where others may follow
 * The linker puts the modules of .llvmbc one behind the other; each begins with the magic.
 * Return: 0; -EBADMSG with @reterr.
 */
int bitcode_size(const void *bytes, size_t size, size_t *retsize, struct fault *reterr);

/**
 * bitcode_source_name() - the module's source file, as the compiler was given it
 * @ret: NUL-terminated, cut to @ret_size; "" when the module does not say
 * Return: 0; -EBADMSG with @reterr; -ENOMEM.
 */
int bitcode_source_name(const void *bytes, size_t size, char *ret, size_t ret_size,
			struct fault *reterr);
