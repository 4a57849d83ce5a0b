/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/source_kind.h"

const struct source_kind source_kind_tick = {
	.in_logs = SAMPLE_SOURCE_TICK,
	.is_automatic = true,
	.is_tick = true,
	.open = source_open_sampler,
};
