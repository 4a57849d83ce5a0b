// SPDX-License-Identifier: Apache-2.0

#include "crash.hpp"
#include "trace.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

uint64_t crash_at = UINT64_MAX;
static uint64_t visits;
static volatile int *volatile nowhere;
static bool traced;

struct counting : visitor {
	uint64_t n = 0;
	uint64_t visit(uint64_t depth, uint64_t seed) override
	{
		n += depth + (seed & 1);
		if (traced)
			trace();
		if (++visits == crash_at)
			*nowhere = 1;
		return seed % (depth + 3);
	}
};

struct mixing : visitor {
	uint64_t visit(uint64_t depth, uint64_t seed) override
	{
		uint64_t x = seed;

		for (uint64_t i = 0; i < depth; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
		if (traced)
			trace();
		if (++visits == crash_at)
			std::abort();
		return x >> 33;
	}
};

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1, sum = 0;
	counting a;
	mixing b;

	if (argc > 2)
		crash_at = std::strtoull(argv[2], nullptr, 10);
	traced = argc > 3;
	for (uint64_t i = 0; i < rounds; i++)
		sum += climb(i % 3 ? static_cast<visitor &>(a) : b, i % 7, i);
	std::printf("%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", sum, a.n, visits);
	return 0;
}
