// SPDX-License-Identifier: Apache-2.0

#include "crash.hpp"

visitor::~visitor() = default;

static uint64_t mix(uint64_t a, uint64_t b)
{
	a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
	if (a % 7 == 3)
		a = a * 31 + b;
	else if (a % 11 == 5)
		a -= b * 17;
	return a;
}

uint64_t checked(uint64_t value)
{
	if (value % 97 == 0)
		throw std::runtime_error("a multiple of 97");
	return value % 1021;
}

uint64_t climb(visitor &v, uint64_t depth, uint64_t seed)
{
	uint64_t sum = mix(seed, depth);

	if (depth == 0)
		return v.visit(depth, sum);
	for (int i = 0; i < 2; i++) {
		try {
			sum += climb(v, depth - 1, mix(sum, i));
			sum += checked(sum);
		} catch (const std::runtime_error &) {
			sum = mix(sum, depth);
		}
	}
	return sum + v.visit(depth, sum);
}
