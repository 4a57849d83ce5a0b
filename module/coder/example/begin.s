# SPDX-License-Identifier: Apache-2.0
# What the compiler's first start file names. It runs nothing: coder/example.h says what it is for.
	.file "crtstuff.c"
	.section .tm_clone_table, "aw", @progbits
	.align 8
	.type __TMC_LIST__, @object
__TMC_LIST__:
	.section .data.rel.local, "aw", @progbits
	.align 8
	.text
	.align 16
	.type deregister_tm_clones, @function
deregister_tm_clones:
	.zero 3
	.long __TMC_LIST__ - . - 4
	.zero 3
	.hidden __TMC_END__
	.long __TMC_END__ - . - 4
	.globl _GLOBAL_OFFSET_TABLE_
	.zero 8
	.weak _ITM_deregisterTMCloneTable, _ITM_registerTMCloneTable
	.long _ITM_deregisterTMCloneTable@GOTPCREL - 4
	.zero 22
	.type register_tm_clones, @function
register_tm_clones:
	.zero 3
	.long __TMC_LIST__ - . - 4
	.zero 3
	.long __TMC_END__ - . - 4
	.zero 25
	.long _ITM_registerTMCloneTable@GOTPCREL - 4
	.zero 21
	.type __do_global_dtors_aux, @function
__do_global_dtors_aux:
	.zero 6
	.long completed.0 - . - 5
	.zero 7
	.globl __dso_handle
	.weak __cxa_finalize
	.long __cxa_finalize@GOTPCREL - 5
	.zero 9
	.long __dso_handle - . - 4
	.zero 1
	.long __cxa_finalize@PLT - 4
	.zero 7
	.long completed.0 - . - 5
	.zero 14
	.bss
	.type completed.0, @object
	.size completed.0, 1
completed.0:
	.zero 1
	.section .fini_array, "aw", @fini_array
	.align 8
	.type __do_global_dtors_aux_fini_array_entry, @object
__do_global_dtors_aux_fini_array_entry:
	.quad __do_global_dtors_aux
	.text
	.type frame_dummy, @function
frame_dummy:
	.zero 9
	.section .init_array, "aw", @init_array
	.align 8
	.type __frame_dummy_init_array_entry, @object
__frame_dummy_init_array_entry:
	.quad frame_dummy
	.section .data.rel.local
	.hidden __dso_handle
	.type __dso_handle, @object
__dso_handle:
	.quad __dso_handle
	.ident "GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section .note.GNU-stack, "", @progbits
	.section .note.gnu.property, "a", @note
	.align 8
	.long 4, 16, 5
	.string "GNU"
	.long 0xc0000002, 4, 3, 0
