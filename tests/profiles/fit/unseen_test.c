/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/fit/unseen.h"

#include "tests/test.h"

/* Ten functions of one block of two instructions each. */
#define N 10u

static struct block_function functions[N];
static struct block blocks[N];
static struct code_block code_blocks[N];
static uint8_t warm[N], fitted[N];
static float costs[2 * N];
static double counts[N], edges[N];

static struct block_map map = { .functions = functions, .blocks = blocks, .n_functions = N, .n_blocks = N };
static struct code code = { .map = &map, .blocks = code_blocks, .warm = warm };
static struct fit_result fit = { .blocks = counts, .edges = edges, .fitted = fitted };

/* As many samples for each of the first; the rest has none, and counts for four samples each. */
static void program_make(const double *samples, unsigned n)
{
	for (unsigned i = 0; i < N; i++) {
		functions[i] = (struct block_function){ .first_block = i, .n_blocks = 1 };
		blocks[i] = (struct block){ .first_edge = i, .n_edges = 1 };
		code_blocks[i] = (struct code_block){ 2 * i, 2, i < n ? samples[i] : 0 };
		warm[i] = i < n ? CODE_SAMPLED : CODE_SAMPLED - 1;
		fitted[i] = 1;
		costs[2 * i] = costs[2 * i + 1] = 0.5;
		counts[i] = i < n ? samples[i] : 4;
		edges[i] = counts[i] / 2;
	}
}

TEST(all_that_was_not_seen_is_as_much_as_what_was_seen_once)
{
	program_make((double[]){ 100, 1, 1, 5 }, 4);
	unseen_scale(&code, costs, &fit);
	/* Two were seen once, one more: three samples for six functions, which were 24. */
	for (unsigned i = 4; i < N; i++)
		CHECK(counts[i] == 0.5 && edges[i] == 0.25);
	CHECK(counts[0] == 100 && counts[1] == 1 && counts[2] == 1 && counts[3] == 5 && edges[0] == 50);
}

TEST(what_is_little_anyway_stays)
{
	program_make((double[]){ 1, 1, 1, 1, 1, 1, 1, 1, 1 }, 9);
	unseen_scale(&code, costs, &fit);
	CHECK(counts[9] == 4 && edges[9] == 2);
}

TEST(where_nothing_was_seen_once_a_little_is_left)
{
	program_make((double[]){ 1000, 1000 }, 2);
	unseen_scale(&code, costs, &fit);
	for (unsigned i = 2; i < N; i++)
		CHECK(counts[i] == 0.125);
}

TEST(what_was_not_fitted_and_what_is_cold_is_left_alone)
{
	program_make((double[]){ 1000 }, 1);
	fitted[8] = 0;
	warm[9] = CODE_COLD;
	unseen_scale(&code, costs, &fit);
	CHECK(counts[8] == 4 && counts[9] == 4);
	CHECK(counts[1] == 1.0 / 7);
}

TEST_MAIN()
