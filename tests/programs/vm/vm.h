/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small stack machine, the tests' own real program: two modules, hot loops, real cold paths, computed
 * goto, static functions of one name in both modules, a constructor, thread-local state, a weak symbol.
 */

#include <stddef.h>

enum op { PUSH, ADD, SUB, MUL, DIV, DUP, SWAP, LESS, JUMP, BRANCH, LOAD, STORE, PRINT, HALT, N_OPS };

struct insn {
	enum op op;
	long value;
};

extern _Thread_local unsigned long n_executed;
extern int started; /* set by the constructor */

long vm_run(const struct insn *code, size_t n);
size_t assemble(const char *text, struct insn *code, size_t capacity);
void complain(const char *what, long where);
