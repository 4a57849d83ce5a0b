/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * culprit_find.h - step 4 of cycles.h: each instruction's time to its causes; private to profiles/cycles/
 */

#include "profiles/cycles/cycles.h"

/**
 * culprit_find() - set shares, may and suspects of all of cycles->insns[], whose samples, cycles and best are set
 * Return: 0 or -ENOMEM. Cost: O(instructions + edges).
 */
int culprit_find(struct cycles *cycles, const struct cycles_options *options);
