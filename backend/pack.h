/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * pack.h - from a file that ld.lld just wrote to a Morph executable
 */

#include "backend/ld_line.h"
#include "base/bytes.h"
#include "base/fault.h"

/**
 * pack() - put IR, block map and link plan of the output into its section .morph
 * @trace: what the linker printed under --trace; @retother: receives the lines that are not the trace's
 *
 * The file is replaced at once or not at all, and nothing that is loaded changes. On an error it is
 * still the working program that the linker wrote.
 * Return: 0; 1: the output has no IR, nothing was done; -errno with @reterr.
 */
int pack(const struct ld_line *line, const struct buffer *trace, struct buffer *retother,
	 struct fault *reterr);
