/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * deny.h - kernels on which a clock must not be used, and why
 */

#include <stdbool.h>

enum deny_what {
	DENY_CPU_CLOCK = 1, /* perf's software clock */
	DENY_BPF_WALK = 2,  /* reading the tree of mappings */
};

/**
 * deny_reason() - the sentence, or NULL when @what may be used
 * @release: as uname(2) gives it, e.g. "6.17.3-arch1-1"; NULL: this kernel
 */
const char *deny_reason(enum deny_what what, const char *release);
