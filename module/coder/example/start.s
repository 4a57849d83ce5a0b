# SPDX-License-Identifier: Apache-2.0
# What a start file for programs names. It runs nothing: coder/example.h says what it is for.
	.text
	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	.zero 23
	.long main@GOTPCREL - 4
	.zero 2
	.long __libc_start_main@GOTPCREL - 4
	.zero 1
	.cfi_endproc
	.size _start, 34
	.section .rodata.cst4, "aM", @progbits, 4
	.align 4
	.globl _IO_stdin_used
	.type _IO_stdin_used, @object
_IO_stdin_used:
	.long 0x20001
	.size _IO_stdin_used, 4
	.data
	.globl __data_start
	.weak data_start
__data_start:
data_start:
	.long 0
	.globl _GLOBAL_OFFSET_TABLE_
	.section .note.GNU-stack, "", @progbits
	.section .note.gnu.property, "a", @note
	.align 8
	.long 4, 16, 5
	.string "GNU"
	.long 0xc0000002, 4, 3, 0
