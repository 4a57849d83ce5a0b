/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * pack.h - from a file that ld.lld just wrote to a Morph executable
 */

#include "backend/ld_line.h"
#include "base/bytes.h"
#include "base/fault.h"

/* Modules by their number in the link, from 0. */
struct pack_choice {
	const bool *
		keeps_debug; /* those whose debug information stays, for their code depends on it; NULL: none */
	size_t n;	     /* of keeps_debug[] */
};

/**
 * pack() - put IR, block map and link plan of the output into its section .morph
 * @trace: what the linker printed under --trace; @retother: receives the lines that are not the trace's
 * @choice: NULL: nothing is known
 *
 * The file is replaced at once or not at all, and nothing that is loaded changes. On an error it is
 * still the working program that the linker wrote.
 * Return: 0; 1: the output has no IR, nothing was done; -errno with @reterr.
 */
int pack(const struct ld_line *line, const struct buffer *trace, const struct pack_choice *choice,
	 struct buffer *retother, struct fault *reterr);

/** pack_nothing() - take what the linker left for pack() out of the output; 0 or -errno with @reterr */
int pack_nothing(const struct ld_line *line, struct fault *reterr);
