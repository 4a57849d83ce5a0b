/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/source_kind.h"

const struct source_kind source_kind_cycles = {
	.in_logs = SAMPLE_SOURCE_CYCLES,
	.open = source_open_sampler,
};
