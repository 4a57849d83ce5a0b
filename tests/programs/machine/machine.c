/* SPDX-License-Identifier: Apache-2.0 */

/*
 * machine ROUNDS - an interpreter of 24 instructions, each of which is followed by any other
 */

#include <stdio.h>
#include <stdlib.h>

struct frame {
	long stack[64], names[16], calls;
	const unsigned char *code;
	int traces;
};

__attribute__((noinline)) static long helper(struct frame *frame, long a, long b)
{
	frame->calls++;
	return a * 31 + b;
}

#define NEXT                                  \
	do {                                  \
		unsigned word = *pc++;        \
		opcode = word % 24;           \
		oparg = word / 24 + extended; \
		opcode |= frame->traces;      \
		goto *places[opcode];         \
	} while (0)

#define CALL(n)                               \
	op##n : a += helper(frame, b, oparg); \
	NEXT
#define MIX(n)                           \
	op##n : b ^= c + oparg;          \
	if (b & 64)                      \
		c = helper(frame, a, d); \
	NEXT
#define STORE(n)                   \
	op##n : sp[oparg & 7] = a; \
	d += sp[(oparg + 3) & 7];  \
	NEXT
#define NAME(n)                                           \
	op##n : names[oparg & 15] += helper(frame, c, d); \
	NEXT
#define LOAD(n)                                  \
	op##n : c = names[(oparg + n) & 15] - d; \
	NEXT
#define LESS(n)                                 \
	op##n : extended = (a + b) & 3;         \
	if (c < d)                              \
		a = helper(frame, a, extended); \
	NEXT

static long run(struct frame *frame, long rounds)
{
	static const void *const places[] = {
		&&op0,	&&op1,	&&op2,	&&op3,	&&op4,	&&op5,	&&op6,	&&op7,
		&&op8,	&&op9,	&&op10, &&op11, &&op12, &&op13, &&op14, &&op15,
		&&op16, &&op17, &&op18, &&op19, &&op20, &&op21, &&op22, &&op23
	};
	const unsigned char *pc = frame->code;
	long *sp = frame->stack + 8, *names = frame->names;
	long a = 1, b = 2, c = 3, d = 4, extended = 0;
	unsigned opcode, oparg;

	NEXT;
	CALL(0);
	MIX(1);
	STORE(2);
	NAME(3);
	LOAD(4);
	LESS(5);
	CALL(6);
	MIX(7);
	STORE(8);
	NAME(9);
	LOAD(10);
	LESS(11);
	CALL(12);
	MIX(13);
	STORE(14);
	NAME(15);
	LOAD(16);
	LESS(17);
	CALL(18);
	MIX(19);
	STORE(20);
	NAME(21);
	LOAD(22);
op23:
	if (--rounds <= 0)
		return a + b + c + d + extended + names[3] + frame->calls;
	pc = frame->code;
	NEXT;
}

int main(int argc, char **argv)
{
	static struct frame frame;
	unsigned char code[200];
	unsigned seed = 1;

	for (unsigned i = 0; i + 1 < sizeof(code); i++) {
		seed = seed * 1103515245 + 12345;
		code[i] = (unsigned char)((seed >> 16) % 23 + 24 * ((seed >> 8) % 9));
	}
	code[sizeof(code) - 1] = 23;
	frame.code = code;
	printf("%ld\n", run(&frame, argc > 1 ? atol(argv[1]) : 1000));
	return 0;
}
