/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * doubt.h - how often sides of branches may have been taken that samples did not see taken
 *
 * A side that was never seen taken is not one that never is: with n samples' worth of executions at a branch, the rule of
 * succession leaves each side 1 / (n + 2). But the ways out of a loop together are not taken more often than the loop is
 * entered, and there are hundreds of them in an interpreter's loop: so much doubt would end it after a few rounds instead of
 * thousands, and all counts that are reckoned from the branches would be far too low. So the doubts of a function are
 * bounded: together they change its executions by a tenth.
 */

#include "profiles/infer/flow.h"

/**
 * doubt_spread() - @retdoubts: per edge, executions to be added; 0 at edges without another side, at unlikely ones, and at
 *                  blocks that did not run
 * @arena:           scratch
 * @blocks, @edges:  counts that obey the graph (flow_infer()); no edge may lead to block 0
 * @samples:         that the function's counts rest on; 0: exact counts, without doubt
 *
 * The sides of one branch keep their shares of its doubt. Where the graph is too much work (markov.h), nothing is bounded.
 * Return: 0; -EINVAL: an edge names a block that is not there, or block 0; -ENOMEM.
 * Cost: that of markov_new(), near-linear for structured code.
 */
int doubt_spread(struct arena *arena, const struct flow_graph *graph, const uint64_t *blocks,
		 const uint64_t *edges, double samples, double *retdoubts);
