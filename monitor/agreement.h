/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * agreement.h - which modules does the tick see wrongly?
 *
 * Work that is synchronised with the scheduler tick (a timer that fires just after it, say) is seen by
 * the tick never, or always. The slow, jittered reference clock is unbiased. For each module the shares
 * of the two are compared by the two-proportion z test on sums that halve every few minutes; a module
 * is tick-synchronous when they differ by more than chance allows and by more than a factor.
 *
 * The samples of one clock are not independent (a program runs in stretches), so the threshold on z is
 * higher than the textbook's. A mark is taken back only when the shares agree again, not at the first
 * doubt. O(modules) per round.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agreement_module {
	double tick, reference; /* samples, aged */
	bool is_synchronous;
};

struct agreement {
	struct agreement_module *modules; /* owned; by number in the catalog */
	size_t n_modules;
	double tick, reference; /* samples of all modules, aged */
};

/** agreement_add() - samples of one round; 0 or -ENOMEM */
int agreement_add(struct agreement *agreement, uint32_t module, uint64_t tick, uint64_t reference);
/** agreement_round() - judge all modules, then age the sums by @elapsed_s; returns how many are synchronous */
size_t agreement_round(struct agreement *agreement, double elapsed_s);
bool agreement_is_synchronous(const struct agreement *agreement, uint32_t module);
void agreement_done(struct agreement *agreement);
