# SPDX-License-Identifier: Apache-2.0
# Notes of a start file for programs. It runs nothing: coder/example.h says what it is for.
	.section .note.gnu.property, "a", @note
	.align 8
	.long 4, 16, 5
	.string "GNU"
	.long 0xc0000002, 4, 3, 0
	.section .note.ABI-tag, "a", @note
	.align 4
	.type __abi_tag, @object
	.size __abi_tag, 32
__abi_tag:
	.long 4, 16, 1
	.string "GNU"
	.long 0, 3, 2, 0
	.section .note.GNU-stack, "", @progbits
