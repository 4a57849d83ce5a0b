/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * counted.h - LLVM's options for code with counts, the same for all that is compared or joined
 *
 * It is known to run, and little. Instructions chosen for size are slow ones, also where the passes before have rightly kept
 * code small (docs/decisions/0026-what-is-not-hot-stays-small.md).
 */

#include "editor/code/pipeline.h"

/* Ways of generating code, to be combined; which is better hangs on what the registers hold (dispatch.c). */
enum {
	WAY_SHARED_DISPATCH = 1 << 0, /* one for many instructions of an interpreter, not a copy for each */
	WAY_NO_STRENGTH_REDUCTION = 1 << 1, /* loops keep no more in registers than they do in the IR */
};

#define COUNTED_OPTIONS(way)                                                                                \
	((way) & WAY_SHARED_DISPATCH) ? "-tail-dup-pred-size=16" : "-tail-dup-pred-size=512",               \
		((way) & WAY_SHARED_DISPATCH) ? "-tail-dup-succ-size=16" : "-tail-dup-succ-size=512",       \
		((way) & WAY_NO_STRENGTH_REDUCTION) ? "-disable-lsr" : "-disable-lsr=false", "-pgso=false", \
		PIPELINE_LOOP_COUNTS
