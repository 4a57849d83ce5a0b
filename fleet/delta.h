/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * delta.h - a stored profile as the value of the database's type fleet.delta[]
 *
 * Only numbers: for each function that is known to have run, its GUID, the hash of its graph, samples, and for each block
 * executions and their relative standard error. No path, no name, no time of the profile is in it.
 */

#include "base/bytes.h"
#include "profiles/store/profile.h"

struct delta_report {
	size_t n_functions, n_counts;
	size_t n_without_graph; /* functions left out, because nobody could know which graph they have */
};

/**
 * delta_of() - the text of the value, NUL-terminated
 * Return: 0; -ENODATA: nothing in it that another machine could use; -E2BIG: more than a batch takes; -ENOMEM.
 */
int delta_of(const struct profile *profile, struct buffer *ret, struct delta_report *retreport,
	     struct fault *reterr);
