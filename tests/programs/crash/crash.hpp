// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>

// Where it crashes is asked for on the command line; which way it got there is what a backtrace has to tell.
struct visitor {
	virtual ~visitor();
	virtual uint64_t visit(uint64_t depth, uint64_t seed) = 0;
};

uint64_t climb(visitor &v, uint64_t depth, uint64_t seed); // recursive
uint64_t checked(uint64_t value);			   // throws std::runtime_error for multiples of 97
extern uint64_t crash_at;				   // the visit that crashes
