# SPDX-License-Identifier: Apache-2.0
# What the compiler's last start file names. It runs nothing: coder/example.h says what it is for.
	.file "crtstuff.c"
	.section .eh_frame, "a", @progbits
	.align 4
	.type __FRAME_END__, @object
__FRAME_END__:
	.zero 4
	.section .tm_clone_table, "aw", @progbits
	.align 8
	.globl __TMC_END__
	.hidden __TMC_END__
	.type __TMC_END__, @object
__TMC_END__:
	.ident "GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section .note.GNU-stack, "", @progbits
	.section .note.gnu.property, "a", @note
	.align 8
	.long 4, 16, 5
	.string "GNU"
	.long 0xc0000002, 4, 3, 0
