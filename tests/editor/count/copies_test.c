/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/copies.h"

#include "tests/test.h"

#define CALLER 1
#define CALLEE 2
#define INNER 3

static struct made_block of(uint64_t guid, const struct block_probe *probe, double count)
{
	return (struct made_block){
		.probes = probe, .n_probes = 1, .guid = guid, .count = count, .has_count = true
	};
}

static double weight(const struct copies *copies, const struct made_block *block)
{
	uint8_t confidence;

	return copies_weigh(copies, block, &confidence);
}

/* All calls of the callee were copied into the caller, and what it calls with it; LLVM believes that half of them are left. */
TEST(what_is_left_of_a_function_shares_what_was_copied_into_it)
{
	static const struct block_probe caller = { .guid = CALLER, .index = 1 },
					callee = { .guid = CALLEE, .index = 1 },
					inner = { .guid = INNER, .index = 1 };
	const struct made_block blocks[] = { of(CALLER, &caller, 100), of(CALLER, &callee, 100),
					     of(CALLER, &inner, 100), of(CALLEE, &callee, 50),
					     of(CALLEE, &inner, 50) };
	_clean_(arena_freep) struct arena *arena = arena_new();
	_clean_(profile_freep) struct profile *profile = profile_new();
	struct copies *copies;

	for (uint64_t guid = CALLER; guid <= INNER; guid++) {
		struct profile_function *function = profile_function(profile, guid);

		CHECK_INT(profile_function_resize(function, 1), 0);
		function->counts[0].executions = 100;
	}
	copies = copies_new(arena, profile, blocks, ARRAY_SIZE(blocks));
	copies_take(copies, &blocks[1], 100);
	copies_take(copies, &blocks[2], 100);
	copies_take(copies, &blocks[4], 50);
	copies_settle(copies);
	CHECK_INT((int)weight(copies, &blocks[3]), 0);
	CHECK_INT((int)weight(copies, &blocks[2]), 66);
	copies_scale(copies);
	CHECK_INT((int)weight(copies, &blocks[2]), 100);
	CHECK_INT((int)weight(copies, &blocks[3]), 0);
	CHECK_INT((int)weight(copies, &blocks[4]), 0);
}

TEST_MAIN()
