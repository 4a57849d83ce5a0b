/* SPDX-License-Identifier: Apache-2.0 */

#include "library.h"

#include <setjmp.h>

_Thread_local uint64_t calls;
extern _Thread_local uint64_t calls_seen __attribute__((alias("calls")));
uint64_t constructed;
extern uint64_t constructed_too __attribute__((alias("constructed")));

__attribute__((constructor)) static void construct(void)
{
	constructed = 42;
}

void trace(uint64_t x) __attribute__((weak)); /* nobody has to define it */

static uint64_t multiply(uint64_t x)
{
	calls++;
	if (trace)
		trace(x);
	return (x ^ x >> 7) * 0x9e3779b97f4a7c15u;
}

__attribute__((noinline)) uint64_t mix_base(uint64_t x)
{
	return multiply(x);
}

uint64_t mix_again(uint64_t x) __attribute__((alias("mix_base")));

__asm__(".symver mix_one, mix@LIB_1");
uint64_t mix_one(uint64_t x)
{
	return mix_base(x) + 1;
}

__asm__(".symver mix_two, mix@@LIB_2");
uint64_t mix_two(uint64_t x)
{
	return mix_again(x) + 2;
}

static uint64_t fold_any(uint64_t x)
{
	for (int i = 0; i < 8; i++)
		x = (x << 3 | x >> 61) ^ i;
	return x;
}

static uint64_t (*fold_choose(void))(uint64_t)
{
	return fold_any;
}

uint64_t fold(uint64_t x) __attribute__((ifunc("fold_choose")));

static jmp_buf way_out;

__attribute__((noinline)) static uint64_t deep(uint64_t x)
{
	if (x % 1024 == 0)
		longjmp(way_out, 1);
	return x + 1;
}

uint64_t guarded(uint64_t x)
{
	volatile uint64_t seen = x;

	if (setjmp(way_out))
		return seen / 1024;
	seen++;
	return deep(x) + seen;
}
