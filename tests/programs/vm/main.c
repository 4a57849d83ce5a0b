/* SPDX-License-Identifier: Apache-2.0 */

#include "vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[N_OPS] = { "push", "add",  "sub",    "mul",  "div",   "dup",   "swap",
					  "less", "jump", "branch", "load", "store", "print", "halt" };

/* The other module has a check() too. */
static __attribute__((noinline)) int check(size_t n, size_t capacity)
{
	if (n >= capacity) {
		fprintf(stderr, "vm: program too long\n");
		exit(4);
	}
	return 1;
}

size_t assemble(const char *text, struct insn *code, size_t capacity)
{
	char word[16];
	size_t n = 0;
	long value;
	int used;

	while (sscanf(text, " %15[a-z]%ld%n", word, &value, &used) == 2) {
		check(n, capacity);
		for (int op = 0; op < N_OPS; op++)
			if (strcmp(word, names[op]) == 0)
				code[n++] = (struct insn){ (enum op)op, value };
		text += used;
	}
	return n;
}

/* Sums i * i / 3 for i below the argument, then a Collatz walk, so that branches go both ways. */
static const char program[] = "push 0 store 0 push 0 store 1 "				   /* 0..3 */
			      "load 0 load 0 mul 0 push 3 div 0 load 1 add 0 store 1 "	   /* 4..11 */
			      "load 0 push 1 add 0 store 0 load 0 load 9 less 0 branch 4 " /* 12..19 */
			      "load 1 print 0 load 9 push 7 add 0 store 2 "		   /* 20..25 */
			      "load 2 push 2 div 0 push 2 mul 0 load 2 less 0 branch 39 "  /* 26..33 */
			      "load 2 push 2 div 0 store 2 jump 45 "			   /* 34..38 */
			      "load 2 push 3 mul 0 push 1 add 0 store 2 "		   /* 39..44 */
			      "push 1 load 2 less 0 branch 26 load 2 print 0 halt 0 ";	   /* 45..51 */

int main(int argc, char **argv)
{
	struct insn code[256];
	char text[2048];
	long n = argc > 1 ? atol(argv[1]) : 1000, rounds = argc > 2 ? atol(argv[2]) : 1, result = 0;

	snprintf(text, sizeof(text), "push %ld store 9 %s", n, program);
	for (long i = 0; i < rounds; i++) {
		size_t length = assemble(text, code, 256);

		/* Two instructions stand before the program: move its jumps. */
		for (size_t k = 0; k < length; k++)
			if (code[k].op == JUMP || code[k].op == BRANCH)
				code[k].value += 2;
		result += vm_run(code, length);
	}
	printf("%ld %lu %d\n", result, n_executed, started);
	return 0;
}
