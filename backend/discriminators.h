/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * discriminators.h - numbers in line tables that elfutils and perf can read
 *
 * LLVM's pseudo probes put what they know of a call into the discriminator of its line (PseudoProbe.h of LLVM 22), a
 * number of up to 32 bits, and it goes into .debug_line. libdw (elfutils 0.188) has 24 bits for one and takes a whole
 * table with a larger one for damaged: no line of the program is found. What the number said is in .pseudo_probe.
 */

#include <stddef.h>
#include <stdint.h>

/**
 * discriminators_shorten() - those above 24 bits become 0, in as many bytes
 * @bytes: a section .debug_line, DWARF 2 to 5. Return: how many; a table that is damaged stays as it is from there on
 */
size_t discriminators_shorten(uint8_t *bytes, size_t size);
