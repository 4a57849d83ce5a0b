/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * markov.h - how often each block runs per entry, from branch probabilities, and the way back
 *
 * A function is an absorbing Markov chain: states are blocks, state 0 is the start, what does not go on
 * leaves. The pattern of edges is analysed once; then frequencies for given probabilities, and
 * derivatives of a sum over frequencies, each take one pass over the pattern. Pure; no I/O.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct markov;

struct markov_edge {
	uint32_t from, to;
};

/**
 * markov_new() - analyse a pattern
 * @arena:    owns the result
 * @edges:    any order; parallel edges and self-loops are fine; none may lead to state 0
 * @max_work: multiplications per solution that the caller is ready to pay
 * Return: 0; -EINVAL: a state that is not there, or an edge to state 0; -E2BIG: above @max_work; -ENOMEM.
 * Source: state reduction (Grassmann, Taksar, Heyman, Operations Research 33, 1985), which never subtracts
 * and so stays exact for loops of a million turns; states that cost least to reduce go first.
 * Cost: near-linear for structured code.
 */
int markov_new(struct arena *arena, uint32_t n_states, const struct markov_edge *edges, uint32_t n_edges,
	       size_t max_work, struct markov **ret);

/** markov_work() - multiplications per solution */
size_t markov_work(const struct markov *markov);

/**
 * markov_solve() - expected visits of every state, starting in state 0 once
 * @probabilities:  one per edge
 * @exits:          per state, the probability of leaving; with its edges' it sums to 1
 * @retfrequencies: n_states; 0 for states that nothing leads to
 */
void markov_solve(struct markov *markov, const double *probabilities, const double *exits,
		  double *retfrequencies);

/**
 * markov_adjoint() - for the last solution: what one more visit of each state is worth
 * @gains:     derivative of some sum with respect to each state's frequency
 * @retvalues: n_states; the derivative with respect to an edge's probability is
 *             frequency[from] * value[to]
 */
void markov_adjoint(const struct markov *markov, const double *gains, double *retvalues);
