/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/source_kind.h"

const struct source_kind source_kind_perf = {
	.in_logs = SAMPLE_SOURCE_CPU_CLOCK,
	.is_automatic = true,
	.is_cpu_clock = true,
	.is_recorder = true,
	.open = source_open_recorder,
};
