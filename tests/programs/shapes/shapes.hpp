// SPDX-License-Identifier: Apache-2.0
#pragma once

// What C++ asks of an editor: virtual calls, exceptions across modules, inline functions and
// variables in several modules, templates, thread-local objects with constructors, static initialization.

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct shape {
	virtual ~shape();
	virtual uint64_t area() const = 0;
	virtual const char *name() const { return "shape"; }
};

struct too_large : std::runtime_error {
	uint64_t size;
	explicit too_large(uint64_t size);
	~too_large() override;
};

struct counter {
	uint64_t n;
	counter();
	~counter();
};

extern thread_local counter calls;
inline uint64_t shared_total = 7; // one for all modules
std::vector<std::string> &log_of_starts();

template <typename T> __attribute__((noinline)) T clamp_to(T x, T limit)
{
	static uint64_t times; // likewise
	shared_total += ++times & 1;
	return x > limit ? x % limit : x;
}

std::unique_ptr<shape> shape_make(uint64_t kind, uint64_t size);
uint64_t checked_area(const shape &s, uint64_t limit); // throws too_large
