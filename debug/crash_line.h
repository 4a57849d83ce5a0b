/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * crash_line.h - the address that one line of a crash report names
 *
 * Known: a number alone; what backtrace_symbols(3), systemd-coredump, gdb's and sanitizers' stack lines say
 *
 *	0x1e60    1e60
 *	./vm(vm_run+0x12) [0x55d5c0de0e72]	./vm(+0x1e60) [0x55d5c0de0e60]
 *	#1  0x000055d5c0de0e60 main (vm + 0x1e60)
 *	    #1 0x55d5c0de0e60 in main (/usr/bin/vm+0x1e60)
 *
 * and the kernel's line of a fault, of Linux before 6.3 and since:
 *
 *	vm[12]: segfault at 0 ip 000055d5c0de0e60 sp ... error 6 in vm[55d5c0de0000+2000]
 *	vm[12]: segfault at 0 ip 000055d5c0de0e60 sp ... error 6 in vm[e60,55d5c0de0000+2000]
 *
 * Whoever crashed wrote some of this: it is foreign text, and only an address comes out of it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "module/image.h"

struct crash_line {
	uint64_t address; /* virtual, of the file */
	bool is_return;	  /* where a call returns to: frame #1 and above */
};

/**
 * crash_line_find() - the address that @text names in the file @image
 * @name:  the program's name, as reports call it: lines about other files name none
 * @base:  what was added to the file's addresses in the process, for numbers that stand alone
 */
bool crash_line_find(const char *text, const char *name, const struct image *image, uint64_t base,
		     struct crash_line *ret);
