/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * codegen.h - IR modules to object files, through libLTO in a child process
 *
 * LLVM's code generator takes block-section lists and address-map requests only as process-wide
 * options, read once: so every call has a process of its own, which sets its options and compiles there, its modules in
 * parallel. A crash of the compiler is a fault here, not the end of the edit. Modules reach it by files in the directory, since it
 * is not forked from the caller: an edit holds a few hundred megabytes by then (forker.h).
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/fault.h"

struct codegen_input {
	const char *name; /* for messages */
	const void *bitcode;
	size_t size;
};

struct codegen_options {
	const char *cpu;	    /* target CPU, NULL: as the IR's functions say */
	const char *const *options; /* LLVM options, NULL-terminated; no spaces inside one */
	unsigned opt_level;	    /* 0..3 */
	bool pic;
	unsigned n_threads; /* 0: as many as modules, at most the number of CPUs */
};

/* What all calls so far took. */
struct codegen_spent {
	double cpu_s;
	uint64_t peak_bytes; /* of the process that had most */
};

/**
 * codegen_begin() - what forks for code generation is begun, to be as small as the caller is now; codegen_run() does it otherwise
 * Return: 0; -errno.
 */
int codegen_begin(struct fault *reterr);

struct codegen_spent codegen_spent(void);

/**
 * codegen_run() - compile each input to DIRECTORY/PREFIX-<i>.o
 * Return: 0; -ECHILD when the compiler crashed or refused (@reterr says what it printed last); -errno.
 */
int codegen_run(const struct codegen_input *inputs, size_t n_inputs, const struct codegen_options *options,
		const char *directory, const char *prefix, struct fault *reterr);
