/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * page_faults.h - how often instructions fault, where that was counted (cycles_options); private to profiles/cycles/
 */

#include "profiles/cycles/cycles.h"

/**
 * page_faults_near() - page faults per execution at instruction @i of @block, or at what runs behind it, whichever has more
 * A clock's interrupt that comes while the kernel handles a fault is told of the instruction that faulted, and so charged to
 * the one before it.
 * @address: of the instruction. Return: NaN: not known.
 */
double page_faults_near(const struct cycles *cycles, const struct cycles_options *options, uint32_t block,
			uint32_t i, uint64_t address);
