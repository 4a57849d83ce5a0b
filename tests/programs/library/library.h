/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a shared library may be made of, and a program that uses all of it. */

#include <stdint.h>

uint64_t mix(uint64_t x);	     /* two versions: LIB_1 adds one, LIB_2 (the default) two */
uint64_t mix_again(uint64_t x);	     /* another name of mix_base() */
uint64_t fold(uint64_t x);	     /* an ifunc */
uint64_t twist(uint64_t x);	     /* file-level assembly */
uint64_t turn(uint64_t x);	     /* its assembly calls a local function by name */
uint64_t guarded(uint64_t x);	     /* leaves by longjmp for multiples of 1024 */
extern _Thread_local uint64_t calls; /* and its other name: */
extern _Thread_local uint64_t calls_seen;
extern uint64_t constructed, constructed_too; /* an alias of a variable */
