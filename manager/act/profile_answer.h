/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * profile_answer.h - what the profile command says of the profile that it made: JSON on its standard output
 *
 * The command may have been taken over by what it read: what it says decides when a program is edited and what people are
 * told, and nothing else. What is missing or senseless counts as not said.
 */

#include <stdbool.h>
#include <stddef.h>

#include "manager/program/priors.h"

struct profile_answer {
	bool is_thin; /* `verdict` is empty or too-few: an edit by what is mostly chance makes programs slower */
	double missing;		      /* `missing_samples`, at least 1 */
	double others[PRIOR_SOURCES]; /* `priors[i].samples`: how many of each source were used */
	/* The samples here do not say that others use it differently: half of what could be used was, or nine tenths of
	 * these samples are in the functions where theirs are (`priors[i].overlap`), which another edit would not repay. */
	bool agrees;
};

/**
 * profile_answer_of() - of @size bytes
 * @sources: of the @n priors that the command was given, in their order
 */
void profile_answer_of(const char *text, size_t size, const enum prior_source *sources, size_t n,
		       struct profile_answer *ret);

/** profile_answer_read() - of the file @path, as it is now */
void profile_answer_read(const char *path, const enum prior_source *sources, size_t n,
			 struct profile_answer *ret);
