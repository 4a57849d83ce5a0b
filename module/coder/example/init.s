# SPDX-License-Identifier: Apache-2.0
# What the start file of .init and .fini names. It runs nothing: coder/example.h says what it is for.
	.section .init, "ax", @progbits
	.align 4
	.globl _init
	.hidden _init
	.type _init, @function
_init:
	.zero 7
	.long __gmon_start__@GOTPCREL - 4
	.zero 7
	.section .fini, "ax", @progbits
	.align 4
	.globl _fini
	.hidden _fini
	.type _fini, @function
_fini:
	.zero 4
	.weak __gmon_start__
	.globl _GLOBAL_OFFSET_TABLE_
	.section .note.GNU-stack, "", @progbits
