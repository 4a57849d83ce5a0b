/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * counted.h - LLVM's options for code with counts, the same for all that is compared or joined
 *
 * It is known to run, and little. Instructions chosen for size are slow ones, also where the passes before have rightly kept
 * code small (docs/decisions/0026-what-is-not-hot-stays-small.md). Counts of loops with several heads are solved for
 * (docs/decisions/0037-counts-of-loops-with-several-heads.md). @shares: one dispatch for many, or a copy for each (dispatch.h)
 */

#define COUNTED_OPTIONS(shares)                                                                 \
	(shares) ? "-tail-dup-pred-size=16" : "-tail-dup-pred-size=512",                        \
		(shares) ? "-tail-dup-succ-size=16" : "-tail-dup-succ-size=512", "-pgso=false", \
		"-use-iterative-bfi-inference"
