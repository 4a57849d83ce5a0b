// SPDX-License-Identifier: Apache-2.0

#include "shapes.hpp"

shape::~shape() = default;

too_large::too_large(uint64_t n) : std::runtime_error("too large"), size(n)
{
}

too_large::~too_large() = default;

counter::counter() : n(100)
{
}

counter::~counter()
{
	n = 0;
}

thread_local counter calls;
[[maybe_unused]] static const bool started = (log_of_starts().push_back("shapes"), true);

std::vector<std::string> &log_of_starts()
{
	static std::vector<std::string> log;

	return log;
}

namespace
{

struct square : shape {
	uint64_t side;
	explicit square(uint64_t n) : side(n) {}
	uint64_t area() const override { return clamp_to<uint64_t>(side * side, 1 << 20); }
	const char *name() const override { return "square"; }
};

struct ring : shape {
	uint64_t outer, inner;
	explicit ring(uint64_t n) : outer(n), inner(n / 2) {}
	uint64_t area() const override { return 3 * (outer * outer - inner * inner); }
};

}

std::unique_ptr<shape> shape_make(uint64_t kind, uint64_t size)
{
	calls.n++;
	switch (kind % 2) {
	case 0:
		return std::make_unique<square>(size);
	default:
		return std::make_unique<ring>(size);
	}
}

uint64_t checked_area(const shape &s, uint64_t limit)
{
	uint64_t area = s.area();

	if (area > limit)
		throw too_large(area);
	return area;
}
