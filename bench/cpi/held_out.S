/* SPDX-License-Identifier: Apache-2.0 */

/*
 * More kernels of known cost, of other shapes than those of kernels.S: written before the rules were looked at again, so that
 * what is claimed of them was not fitted to them. Same conventions.
 */

#include "kernels.inc"

/* Dependencies: an addition of three parts, a select between loads, what goes round through memory, vectors. */

KERNEL lea_chain
LOOP	lea_chain
	.rept 8
	lea	rax, [rax + rsi * 8 + 0x12345678]
	.endr
	TURN
	LEAVE lea_chain

KERNEL select_chain
	xor	eax, eax
LOOP	select_chain
	mov	r8, [rsi + 8]
	mov	r9, [rsi + 16]
	.rept 6
	cmp	rax, r8
	cmovae	rax, r9
	.endr
	TURN
	LEAVE select_chain

KERNEL push_pop
	mov	r10, rsi
LOOP	push_pop
	push	r10
	push	rax
	imul	rax, rax, 3
	pop	r9
	pop	r9
	imul	rax, rax, 5
	imul	rax, rax, 7
	TURN
	LEAVE push_pop

KERNEL vector_chain
	xorps	xmm0, xmm0
	movaps	xmm1, xmm0
LOOP	vector_chain
	.rept 5
	mulps	xmm0, xmm1
	.endr
	TURN
	LEAVE vector_chain

/* Units. */

KERNEL vector_divide
	movups	xmm1, [rip + ones]
	movaps	xmm0, xmm1
LOOP	vector_divide
	divps	xmm0, xmm1
	sqrtps	xmm0, xmm0
	TURN
	LEAVE vector_divide

KERNEL string_store
	mov	r8, rdi
	mov	r9, rsi
LOOP	string_store
	mov	rdi, r9
	mov	ecx, 40
	xor	eax, eax
	rep stosb
	dec	r8
	jnz	1b
	LEAVE string_store

/* Memory: two lists at once, a list among other work, a list that the second cache does not hold, stores everywhere. */

KERNEL dram_pair
	mov	r8, [rsi + 16]
LOOP	dram_pair
	mov	rsi, [rsi]
	mov	r8, [r8]
	TURN
	LEAVE dram_pair

KERNEL l3_work
	mov	eax, 3
LOOP	l3_work
	mov	rsi, [rsi]
	add	rax, rdi
	xor	rax, 0x55
	rol	rax, 3
	lea	r9, [rax + 5]
	add	r9, rdi
	TURN
	LEAVE l3_work

KERNEL l2_calls
	push	rbx
	mov	rbx, rdi
LOOP	l2_calls
	call	l2_calls__step
	dec	rbx
	jnz	1b
	pop	rbx
	LEAVE l2_calls

KERNEL l2_calls__step
	mov	rsi, [rsi]
	LEAVE l2_calls__step

KERNEL store_scatter
	mov	rax, [rsi]
	lea	r9, [rsi + 64]
LOOP	store_scatter
	RANDOM
	mov	r8, rax
	and	r8, 0x3ffffc0
	mov	[r9 + r8], rdi
	TURN
	LEAVE store_scatter

/* Branches: how often an inner loop turns; which of some functions is called. */

KERNEL mispredict_trips
	mov	rax, [rsi]
LOOP	mispredict_trips
	RANDOM
	mov	ecx, eax
	and	ecx, 7
2:	add	r9, 1
	sub	ecx, 1
	jns	2b
	TURN
	LEAVE mispredict_trips

KERNEL mispredict_calls
	push	rbx
	mov	rbx, rdi
	mov	rax, [rsi]
	lea	r9, [rip + 20f]
LOOP	mispredict_calls
	RANDOM
	mov	r8d, eax
	and	r8d, 3
	call	[r9 + r8 * 8]
	dec	rbx
	jnz	1b
	pop	rbx
	LEAVE mispredict_calls
	.section .data.rel.ro, "aw"
	.p2align 3
20:	.quad	mispredict_calls__a, mispredict_calls__b, mispredict_calls__c, mispredict_calls__d
	.text
KERNEL mispredict_calls__a
	inc	rcx
	LEAVE mispredict_calls__a
KERNEL mispredict_calls__b
	add	rcx, 7
	LEAVE mispredict_calls__b
KERNEL mispredict_calls__c
	sub	rcx, 3
	LEAVE mispredict_calls__c
KERNEL mispredict_calls__d
	xor	rcx, 9
	LEAVE mispredict_calls__d

/* A value that was stored byte by byte, and is loaded as one a block later. */

KERNEL store_forward_bytes
LOOP	store_forward_bytes
	mov	byte ptr [rsi + 8], dil
	mov	byte ptr [rsi + 9], dil
	test	rdi, rdi
	js	3f
	movzx	eax, word ptr [rsi + 8]
	and	eax, 0
	add	rsi, rax
3:	TURN
	LEAVE store_forward_bytes

/* Code: thousands of small functions, called one after the other. */

KERNEL icache_calls
LOOP	icache_calls
	.set	n, 0
	.rept 6000
	call	40f + n * 256
	.set	n, n + 1
	.endr
	dec	rdi
	jz	3f
	jmp	1b
3:	LEAVE icache_calls
	.p2align 8
	.globl icache_leaves
	.type	icache_leaves, @function
icache_leaves:
40:
	.rept 6000
	inc	rax
	ret
	.p2align 8
	.endr
	.size	icache_leaves, . - icache_leaves

/* What waits until all before it has ended, without a prefix that says so. */

KERNEL exchange
LOOP	exchange
	xchg	[rsi], rax
	TURN
	LEAVE exchange

KERNEL compare_exchange
LOOP	compare_exchange
	mov	rax, [rsi]
	lea	rdx, [rax + 1]
	lock cmpxchg [rsi], rdx
	TURN
	LEAVE compare_exchange

/* A page for each turn that nobody has touched, read. */

KERNEL page_fault_read
LOOP	page_fault_read
	mov	rax, [rsi]
	add	rsi, 4096
	TURN
	LEAVE page_fault_read

/* Two stores into it: the second one does not fault. */

KERNEL page_fault_pair
LOOP	page_fault_pair
	mov	[rsi], rdi
	mov	[rsi + 128], rdi
	add	rsi, 4096
	TURN
	LEAVE page_fault_pair

/* Read and written at once. */

KERNEL page_fault_add
LOOP	page_fault_add
	add	qword ptr [rsi], 3
	add	rsi, 4096
	TURN
	LEAVE page_fault_add

	.section .rodata
	.p2align 4
ones:	.float	1.0, 1.5, 1.25, 1.75
	.section .note.GNU-stack, "", @progbits
