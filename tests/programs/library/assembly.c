/* SPDX-License-Identifier: Apache-2.0 */

#include "library.h"

__asm__("	.text\n"
	"	.globl twist\n"
	"	.type twist,@function\n"
	"twist:	lea	1(%rdi,%rdi,4), %rax\n"
	"	xor	key(%rip), %rax\n"
	"	ret\n"
	"	.size twist, .-twist\n"
	"	.section .rodata\n"
	"key:	.quad 0x5555\n"
	"	.text\n");

static uint64_t steps = 3;

__attribute__((used)) static uint64_t local_step(uint64_t x)
{
	return x + steps++ % 2;
}

/* Behind the red zone, on an aligned stack. */
uint64_t turn(uint64_t x)
{
	uint64_t result;

	__asm__ volatile("mov %%rsp, %%rbx\n\tsub $256, %%rsp\n\tand $-16, %%rsp\n\tcall local_step\n\tmov "
			 "%%rbx, %%rsp"
			 : "=a"(result), "+D"(x)
			 :
			 : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	return result;
}
