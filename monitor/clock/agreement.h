/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * agreement.h - which modules does the tick see wrongly?
 *
 * Work that is synchronised with the scheduler tick (a timer that fires just after it, say) is seen by
 * the tick never, or always. The slow, jittered reference clock is unbiased. Of the samples of any other
 * work the reference has its rate's part, reference / (tick + reference); for each module its number is
 * compared with that, as a sum over rounds that halves every few minutes. A module is tick-synchronous
 * when the two differ by more than chance allows (binomial, |z| > 5) and by more than a factor.
 *
 * The rates are what counts, not the shares among all samples: on an otherwise idle machine there is
 * nothing to have a share of, and beside work that the tick does not see all other shares would be wrong.
 * The samples of one clock are not independent (a program runs in stretches), so the threshold on z is
 * higher than the textbook's. A mark is taken back only when the clocks agree again, not at the first
 * doubt. O(modules) per round.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The clocks in one round. */
struct agreement_clocks {
	double tick_hz, reference_hz; /* samples per second of CPU time; reference_hz 0: it did not run */
	bool is_paused; /* on some CPU the reference did not run: where it saw less, that may be why */
};

struct agreement_module {
	uint64_t tick, reference;	 /* samples of this round */
	double seen, expected, variance; /* the reference's samples: sums over rounds, aged */
	bool is_synchronous;
};

struct agreement {
	struct agreement_module *modules; /* owned; by number in the catalog */
	size_t n_modules;
};

/** agreement_add() - samples of this round; 0 or -ENOMEM */
int agreement_add(struct agreement *agreement, uint32_t module, uint64_t tick, uint64_t reference);
/** agreement_round() - end of a round of @elapsed_s: judge all modules; returns how many are synchronous */
size_t agreement_round(struct agreement *agreement, const struct agreement_clocks *clocks, double elapsed_s);
bool agreement_is_synchronous(const struct agreement *agreement, uint32_t module);
/** agreement_renumber() - module @i is now @map[@i] (UINT32_MAX: gone), for the first @n; 0 or -ENOMEM */
int agreement_renumber(struct agreement *agreement, const uint32_t *map, size_t n);
void agreement_done(struct agreement *agreement);
