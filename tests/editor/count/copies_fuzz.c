/* SPDX-License-Identifier: Apache-2.0 */

/* Bytes become counts and blocks with any probes; copies of a block never have more executions than it has. */

#include "editor/count/copies.h"

#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"

#define N_FUNCTIONS 4u
#define N_INDICES 6u
#define MAX_BLOCKS 48u
#define MAX_PROBES 4u

static void counts_read(struct reader *reader, struct profile *profile)
{
	for (uint64_t guid = 1; guid < N_FUNCTIONS; guid++) { /* of the last nothing is known */
		struct profile_function *function = profile_function(profile, guid);
		uint32_t n = reader_u8(reader) % (N_INDICES + 1);

		if (!function || profile_function_resize(function, n) < 0)
			abort();
		for (uint32_t k = 0; k < n; k++)
			function->counts[k].executions = reader_uleb(reader);
	}
}

/* A function's blocks stand together. */
static size_t blocks_read(struct reader *reader, struct made_block *blocks,
			  struct block_probe (*probes)[MAX_PROBES])
{
	size_t n = 0;
	uint64_t guid = 0;

	while (n < MAX_BLOCKS && reader_left(reader)) {
		uint8_t kind = reader_u8(reader);
		struct made_block *block = &blocks[n];

		guid = n == 0 || kind & 0x80 ? reader_u8(reader) % (N_FUNCTIONS + 1) : guid;
		*block = (struct made_block){ .probes = probes[n],
					      .n_probes = kind % (MAX_PROBES + 1),
					      .guid = guid };
		block->has_count = kind & 0x40;
		block->count = block->has_count ? (double)reader_uleb(reader) : 0;
		for (uint32_t k = 0; k < block->n_probes; k++) {
			uint8_t probe = reader_u8(reader);

			probes[n][k] = (struct block_probe){ .guid = 1 + probe % N_FUNCTIONS,
							     .index = probe / N_FUNCTIONS % (N_INDICES + 1) };
		}
		n++;
	}
	return n;
}

/* Of blocks that have no other probe than that one. */
static void shares_check(const struct copies *copies, const struct profile *profile,
			 const struct made_block *blocks, size_t n)
{
	double sums[N_FUNCTIONS + 1][N_INDICES + 1] = { 0 };

	for (size_t b = 0; b < n; b++) {
		uint8_t confidence;
		double executions = copies_weigh(copies, &blocks[b], &confidence);

		if (!(executions >= 0) || isinf(executions) || (executions > 0 && !confidence))
			abort();
		if (blocks[b].n_probes == 1)
			sums[blocks[b].probes->guid][blocks[b].probes->index] += executions;
	}
	for (uint64_t guid = 1; guid <= N_FUNCTIONS; guid++) {
		const struct profile_function *function = profile_find(profile, guid);

		for (uint32_t k = 1; k <= N_INDICES; k++) {
			double known = function && k <= function->n_counts ?
					       (double)function->counts[k - 1].executions :
					       0;

			if (sums[guid][k] > known * 1.0001)
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct made_block blocks[MAX_BLOCKS];
	struct block_probe probes[MAX_BLOCKS][MAX_PROBES];
	struct reader reader = reader_of(data, size);
	struct profile *profile = profile_new();
	struct arena *arena = arena_new();
	struct copies *copies;
	size_t n;

	if (!profile || !arena)
		abort();
	counts_read(&reader, profile);
	n = blocks_read(&reader, blocks, probes);
	copies = copies_new(arena, profile, blocks, n);
	if (!copies)
		abort();
	for (size_t b = 0; b < n; b++) {
		uint8_t confidence;

		copies_take(copies, &blocks[b], copies_weigh(copies, &blocks[b], &confidence));
	}
	copies_settle(copies);
	shares_check(copies, profile, blocks, n);
	copies_scale(copies);
	shares_check(copies, profile, blocks, n);
	arena_free(arena);
	profile_free(profile);
	return 0;
}
