/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bug.h - what somebody needs who is to repair what a bisection has found
 */

#include "cli/bisect/subject.h"

struct bug {
	const char *directory;	/* is made; must not be there */
	const char *summary;	/* text of README */
	const char *generation; /* file with all functions compiled anew */
	const bool *wanted;	/* of subject->n_functions: which are told of */
};

/**
 * bug_write() - in a directory of its own:
 *	README			what was found, and how
 *	N-NAME/shipped.ll	the function's shipped IR, as a module that `opt` reads
 *	N-NAME/counts		executions of its blocks, by the profile
 *	N-NAME/shipped.s	its code in the shipped file, and
 *	N-NAME/generation.s	in the generation
 * Nothing in it is of other functions, or of this machine but its CPU. 0; -errno with @reterr
 */
int bug_write(struct subject *subject, const struct bug *bug, struct fault *reterr);
