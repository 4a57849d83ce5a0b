// SPDX-License-Identifier: Apache-2.0

#include "shapes.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static const bool started = (log_of_starts().push_back("main"), true);

struct guard {
	uint64_t &n;
	~guard() { n++; }
};

static uint64_t one(uint64_t i, uint64_t &unwound)
{
	guard g{ unwound };
	auto s = shape_make(i, i % 700);

	try {
		return checked_area(*s, 400000) + std::strlen(s->name());
	} catch (const too_large &e) {
		if (e.size % 3 == 0)
			throw;
		return e.size;
	}
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000, sum = 0, unwound = 0, caught = 0;

	for (uint64_t i = 0; i < n; i++) {
		try {
			sum = sum * 31 + clamp_to<uint64_t>(one(i, unwound), 1 << 19);
		} catch (const std::exception &e) {
			caught += std::strlen(e.what());
		}
	}
	std::printf("%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, sum, unwound, caught, calls.n, shared_total);
	for (const auto &s : log_of_starts())
		std::printf(" %s", s.c_str());
	std::printf("\n");
	return started ? 0 : 1;
}
