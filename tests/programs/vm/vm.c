/* SPDX-License-Identifier: Apache-2.0 */

#include "vm.h"

#include <stdio.h>
#include <stdlib.h>

_Thread_local unsigned long n_executed;
int started;

__attribute__((constructor)) static void start(void)
{
	started = 42;
}

__attribute__((weak)) void complain(const char *what, long where)
{
	fprintf(stderr, "vm: %s at %ld\n", what, where);
	exit(3);
}

/* The other module has a check() too. */
static __attribute__((noinline)) long check(long depth, long where)
{
	if (depth < 0)
		complain("stack is empty", where);
	if (depth >= 256)
		complain("stack is full", where);
	return depth;
}

long vm_run(const struct insn *code, size_t n)
{
	static const void *const labels[] = { &&push, &&add,  &&sub,	&&mul,	&&div,	 &&dup,	  &&swap,
					      &&less, &&jump, &&branch, &&load, &&store, &&print, &&halt };
	long stack[256], memory[64] = { 0 }, pc = 0, sp = -1, t;

#define NEXT                               \
	do {                               \
		n_executed++;              \
		pc++;                      \
		goto *labels[code[pc].op]; \
	} while (0)

	(void)n;
	goto *labels[code[pc].op];
push:
	sp = check(sp + 1, pc);
	stack[sp] = code[pc].value;
	NEXT;
add:
	check(sp - 1, pc);
	stack[sp - 1] += stack[sp];
	sp--;
	NEXT;
sub:
	check(sp - 1, pc);
	stack[sp - 1] -= stack[sp];
	sp--;
	NEXT;
mul:
	check(sp - 1, pc);
	stack[sp - 1] = (long)((unsigned long)stack[sp - 1] * (unsigned long)stack[sp]);
	sp--;
	NEXT;
div:
	check(sp - 1, pc);
	if (!stack[sp])
		complain("division by zero", pc);
	stack[sp - 1] /= stack[sp];
	sp--;
	NEXT;
dup:
	check(sp, pc);
	sp = check(sp + 1, pc);
	stack[sp] = stack[sp - 1];
	NEXT;
swap:
	check(sp - 1, pc);
	t = stack[sp];
	stack[sp] = stack[sp - 1];
	stack[sp - 1] = t;
	NEXT;
less:
	check(sp - 1, pc);
	stack[sp - 1] = stack[sp - 1] < stack[sp];
	sp--;
	NEXT;
jump:
	pc = code[pc].value - 1;
	NEXT;
branch:
	check(sp, pc);
	if (stack[sp--])
		pc = code[pc].value - 1;
	NEXT;
load:
	sp = check(sp + 1, pc);
	stack[sp] = memory[code[pc].value & 63];
	NEXT;
store:
	check(sp, pc);
	memory[code[pc].value & 63] = stack[sp--];
	NEXT;
print:
	check(sp, pc);
	printf("%ld\n", stack[sp--]);
	NEXT;
halt:
	return sp >= 0 ? stack[sp] : 0;
}
