/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * callers.h - the stacks of one drain, in terms of files: what sampler.h calls a stack becomes one of stacks.h
 */

#include "monitor/bpf/sampler_load.h"
#include "monitor/identify/catalog.h"
#include "monitor/identify/kernel_map.h"
#include "monitor/identify/resolver.h"

struct callers {
	struct catalog *catalog; /* all borrowed */
	struct resolver *resolver;
	struct kernel_map *kernel;
};

/** callers_add() - each counts for the samples that it stands for; 0 or -ENOMEM. O(frames) */
int callers_add(const struct callers *callers, const struct sampler_drained *drained, struct stacks *ret);
