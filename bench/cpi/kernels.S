/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Kernels of known cost. Each is a function NAME(rdi: turns, rsi: memory) whose loop waits for one thing; kernels.c says
 * for what. What surrounds it (the counter) is never what is waited for.
 */

#include "kernels.inc"

/* Dependencies: chains through registers. */

KERNEL add_chain
	mov	eax, 1
LOOP	add_chain
	.rept 12
	add	rax, rsi
	.endr
	TURN
	LEAVE add_chain

KERNEL multiply_chain
	mov	eax, 3
LOOP	multiply_chain
	.rept 6
	imul	rax, rax
	.endr
	TURN
	LEAVE multiply_chain

KERNEL float_chain
	xorps	xmm0, xmm0
	movsd	xmm1, [rip + one]
LOOP	float_chain
	.rept 6
	addsd	xmm0, xmm1
	.endr
	TURN
	LEAVE float_chain

KERNEL rotate_chain
	mov	eax, 3
LOOP	rotate_chain
	.rept 8
	rol	rax, 7
	xor	rax, rsi
	.endr
	TURN
	LEAVE rotate_chain

/* Units that take long. */

KERNEL divide
	mov	r8, 1000003
	mov	r9, 0x123456789abcdef
LOOP	divide
	mov	rax, r9
	xor	edx, edx
	div	r8
	add	r9, rax
	mov	rax, r9
	xor	edx, edx
	div	r8
	xor	r9, rdx
	TURN
	LEAVE divide

KERNEL float_divide
	movsd	xmm0, [rip + one]
	movsd	xmm1, [rip + some]
LOOP	float_divide
	.rept 4
	divsd	xmm0, xmm1
	.endr
	TURN
	LEAVE float_divide

KERNEL square_root
	movsd	xmm0, [rip + some]
LOOP	square_root
	.rept 4
	sqrtsd	xmm0, xmm0
	.endr
	TURN
	LEAVE square_root

KERNEL float_divide_apart
	movsd	xmm1, [rip + some]
	movapd	xmm2, xmm1
	movapd	xmm3, xmm1
LOOP	float_divide_apart
	divsd	xmm2, xmm1
	divsd	xmm3, xmm1
	movapd	xmm4, xmm1
	divsd	xmm4, xmm2
	movapd	xmm5, xmm1
	divsd	xmm5, xmm3
	TURN
	LEAVE float_divide_apart

/* Memory: the chain leads through a list; kernels.c makes it as long as the cache that it is to miss. */

.macro CHASE name
KERNEL \name
LOOP	\name
	mov	rsi, [rsi]
	TURN
	LEAVE \name
.endm

	CHASE l1_chase
	CHASE l2_chase
	CHASE dram_chase
	CHASE page_chase

KERNEL dram_sum
	xor	eax, eax
LOOP	dram_sum
	mov	rsi, [rsi]
	add	rax, [rsi + 8]
	imul	rax, rax, 3
	TURN
	LEAVE dram_sum

/* Branches: xorshift decides, or a table of random bytes. */

KERNEL mispredict
	mov	rax, [rsi]
	xor	ecx, ecx
LOOP	mispredict
	RANDOM
	test	al, 1
	jz	2f
	add	rcx, 3
	jmp	3f
2:	sub	rcx, 5
3:	TURN
	LEAVE mispredict

KERNEL mispredict_skip
	mov	rax, [rsi]
	xor	ecx, ecx
LOOP	mispredict_skip
	RANDOM
	test	al, 3
	jz	2f
	inc	rcx
2:	test	al, 16
	jz	3f
	xor	rcx, rax
3:	TURN
	LEAVE mispredict_skip

KERNEL mispredict_indirect
	mov	rax, [rsi]
	lea	r9, [rip + 10f]
	xor	ecx, ecx
LOOP	mispredict_indirect
	RANDOM
	mov	r8d, eax
	and	r8d, 3
	movsxd	r8, dword ptr [r9 + r8 * 4]
	add	r8, r9
	jmp	r8
2:	inc	rcx
	jmp	6f
3:	add	rcx, 7
	jmp	6f
4:	sub	rcx, 3
	jmp	6f
5:	xor	rcx, 9
6:	TURN
	ret
	.size	mispredict_indirect, . - mispredict_indirect
	.section .rodata
	.p2align 2
10:	.long	2b - 10b, 3b - 10b, 4b - 10b, 5b - 10b
	.text

/* Stores that the load behind them cannot take its value from. */

KERNEL store_forward_wide
LOOP	store_forward_wide
	mov	[rsi], edi
	mov	[rsi + 4], edi
	mov	rax, [rsi]
	and	eax, 0
	add	rsi, rax
	TURN
	LEAVE store_forward_wide

KERNEL store_forward_apart
LOOP	store_forward_apart
	mov	[rsi], rdi
	mov	rax, [rsi + 3]
	and	eax, 0
	add	rsi, rax
	TURN
	LEAVE store_forward_apart

/* Code: more lines, or pages, than the cache for them holds. */

KERNEL icache_straight
LOOP	icache_straight
	.rept 160000
	lea	rax, [rsi + 0x12345678]
	.endr
	TURN
	LEAVE icache_straight

KERNEL icache_pages
LOOP	icache_pages
	.rept 4000
	jmp	2f
	.nops	4096 + 64 - 5
2:
	.endr
	dec	rdi
	jz	3f
	jmp	1b
3:	LEAVE icache_pages

/* What waits until all before it has ended. */

KERNEL atomic_add
	mov	eax, 1
LOOP	atomic_add
	lock xadd [rsi], rax
	TURN
	LEAVE atomic_add

KERNEL memory_fence
LOOP	memory_fence
	mov	[rsi], rdi
	mfence
	TURN
	LEAVE memory_fence

KERNEL load_fence
LOOP	load_fence
	add	rax, 1
	lfence
	add	rax, 1
	lfence
	TURN
	LEAVE load_fence

/* A page for each turn that nobody has touched. */

KERNEL page_fault
LOOP	page_fault
	mov	[rsi], rdi
	add	rsi, 4096
	TURN
	LEAVE page_fault

/* Copies by microcode. */

KERNEL string_copy
	mov	r8, rdi
	mov	r9, rsi
LOOP	string_copy
	mov	rsi, r9
	lea	rdi, [r9 + 512]
	mov	ecx, 24
	rep movsb
	dec	r8
	jnz	1b
	LEAVE string_copy

	.section .rodata
	.p2align 3
one:	.double	1.0
some:	.double	1.0000001
	.section .note.GNU-stack, "", @progbits
