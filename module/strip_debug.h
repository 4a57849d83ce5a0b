/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * strip_debug.h - what the linker asks of morph-strip-debug, and what that answers
 *
 * Asked, one module behind the other: a byte (enum strip_debug), the size (u64), the bitcode. Answered in the same order: a
 * byte (enum stripped_debug); for STRIPPED_DEBUG_DONE the size (u64), the bitcode. Integers are little-endian.
 */

enum strip_debug {
	STRIP_DEBUG,	      /* whatever the code generation makes of it */
	STRIP_DEBUG_IF_LOOPS, /* only if loop strength reduction makes the same of both */
};

enum stripped_debug {
	STRIPPED_DEBUG_DONE,
	STRIPPED_DEBUG_DEPENDS, /* its loops become others without */
};
