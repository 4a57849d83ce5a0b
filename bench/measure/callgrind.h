/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * callgrind.h - exact execution counts of every instruction and jump, from callgrind's output
 *
 * For files written by `valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes`. Addresses are
 * those of the file before relocation. Valgrind knows an object by its section .text alone: code of .text.hot and the like,
 * as generations have it, is in the object "???", at the address where it ran. Format: Valgrind's manual, "Callgrind Format Specification".
 */

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

struct callgrind_count {
	uint64_t address, count;
};

struct callgrind_jump {
	uint64_t from, to; /* instruction addresses, both in the object */
	uint64_t taken;
};

struct callgrind {
	struct callgrind_count *counts; /* owned; sorted by address, unique */
	struct callgrind_jump *jumps;	/* owned; sorted by (from, to), unique */
	size_t n_counts, n_jumps, counts_capacity, jumps_capacity;
	uint64_t
		base; /* set by the caller: where valgrind loads position-independent programs; 0: "???" is left out */
	uint64_t
		n_lost; /* executions in "???" while the object was the program that ran, that were left out for that */
};

/**
 * callgrind_read() - add the counts of one output file
 * @object: only what ran in the object file whose path ends in "/@object"
 * Return: 0; -errno; -EBADMSG: not callgrind's output; @reterr says where.
 */
int callgrind_read(struct callgrind *into, const char *path, const char *object, struct fault *reterr);
void callgrind_done(struct callgrind *callgrind);

uint64_t callgrind_count_of(const struct callgrind *callgrind, uint64_t address); /* 0: never ran */
