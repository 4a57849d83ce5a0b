#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What honest programs are made of is proven: a stack protector before calls that do not come back, library functions that LLVM
# knows as its own, and what functions return that others rely on. A function that is not proven would stay as it was shipped.
set -euo pipefail
. "$(dirname "$0")/../work.sh"

cat >main.c <<-'C'
	#include <math.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>

	__attribute__((noinline, noreturn, cold)) static void leave(const char *why)
	{
		fputs(why, stderr);
		exit(3);
	}

	/* A buffer on the stack, which the stack protector guards, and two ends. */
	__attribute__((noinline)) static unsigned long text_sum(unsigned long n)
	{
		char text[32];
		unsigned long sum = 0;

		if (n > 1ul << 60)
			leave("too large\n");
		snprintf(text, sizeof(text), "%lu", n);
		for (char *c = text; *c; c++)
			sum += (unsigned long)*c;
		if (sum < 48)
			abort();
		return sum;
	}

	__attribute__((noinline)) static double fractions(double step, int n)
	{
		double sum = 0, whole;

		for (int i = 0; i < n; i++)
			sum += modf(step * i, &whole) + whole / 1e9;
		return sum;
	}

	/* The last call takes the place of the return, for nobody keeps the address of the text. */
	__attribute__((noinline)) static unsigned long mixed(unsigned long n) { return n * 2654435761u ^ n >> 7 ^ (n | 1) / 3; }
	__attribute__((noinline, no_stack_protector)) static unsigned long length_mixed(unsigned long n)
	{
		char text[24];

		memset(text, 'a', sizeof(text));
		text[n % sizeof(text)] = 0;
		return mixed(strlen(text));
	}

	/* Unrolled, with rounds left over: LLVM assumes that there are some, and makes another loop when nobody says so. */
	struct wide { long numbers[12]; void *at; };
	__attribute__((noinline)) static void all_set(struct wide *all, const unsigned char *n, void *at)
	{
		unsigned many = *n;

		for (unsigned i = 0; i < many; i++)
			all[i].at = at;
	}

	/* What leave_out() returns is 0 or 1, so it is doubled; who does not know makes a 2 of whatever is not 0. */
	struct line { int top; long base; };
	__attribute__((noinline)) static int leave_out(unsigned long n)
	{
		if (n % 1000003 == 0)
			return 1;
		if (n % 5 == 2)
			return 0;
		return n % 7 == 2;
	}
	__attribute__((noinline)) static long column(const struct line *line, unsigned long n)
	{
		int out = leave_out(n);

		return line->base + (out ? 2 : 0) + line->top;
	}

	/* Here, too, though odd() gets the variable's address: its body shows that it keeps none. odd() itself hardly runs. */
	__attribute__((noinline, cold)) static void odd(unsigned *many) { *many += 7; }
	__attribute__((noinline, no_stack_protector)) static unsigned long oddly_mixed(unsigned long n)
	{
		unsigned many = (unsigned)n;

		if (n % 65536 == 5)
			odd(&many);
		return mixed(many + n);
	}

	int main(int argc, char **argv)
	{
		unsigned long n = argc > 1 ? strtoul(argv[1], 0, 10) : 10, sum = 0;
		static struct wide all[16];
		double rest = 0;

		for (unsigned long i = 0; i < n; i++) {
			sum += text_sum(i);
			rest += fractions(1.0 / (double)(i + 3), 20);
			sum += length_mixed(i) + oddly_mixed(i);
			all_set(all, &(unsigned char){ i % 16 }, argv);
			sum += (unsigned long)column(&(struct line){ argc, (long)i }, i);
		}
		printf("%lu %.6f\n", sum, rest);
		return 0;
	}
C
morph cc -O2 -fstack-protector-strong -c main.c
morph cc -fstack-protector-strong main.o -lm -o shipped
morph record -F 4000 -o samples -- ./shipped 2000000 >/dev/null 2>&1
morph profile shipped samples -o profile >/dev/null 2>&1
morph optimize shipped --force --profile profile --report report.json -o made
[ "$(./made 1000)" = "$(./shipped 1000)" ] || fail "the generation says $(./made 1000), the program $(./shipped 1000)"
[ "$(jq .functions_unproved report.json)" = 0 ] || fail "$(jq .functions_unproved report.json) functions are not proven"
[ "$(jq .functions_proved report.json)" -ge 6 ] || fail "only $(jq .functions_proved report.json) functions were asked about"
