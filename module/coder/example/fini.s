# SPDX-License-Identifier: Apache-2.0
# The rest of .init and .fini. It runs nothing: coder/example.h says what it is for.
	.section .init, "ax", @progbits
	.zero 5
	.section .fini, "ax", @progbits
	.zero 5
	.section .note.GNU-stack, "", @progbits
