/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * masquerade.h - a compiler that is called by another compiler's name
 *
 * As with ccache, a directory of links to morph-cc, named gcc, x86_64-linux-gnu-g++-12 and so on, stands first in PATH. The
 * compiler that the name means is the next of that name in PATH.
 */

#include <stdbool.h>

#include "base/fault.h"

struct masquerade {
	const char *name; /* of the link, without directories; borrowed */
	bool is_cxx;
	bool is_gcc;	      /* the name means GCC: what clang cannot do, GCC does */
	bool is_foreign;      /* its target is another machine's */
	const char *standard; /* "-std=c99" of c99, ...; NULL */
};

/** masquerade_read() - @path: argv[0]. false: the name is no compiler's; then @ret is that of a C compiler that means clang */
bool masquerade_read(const char *path, struct masquerade *ret);

/**
 * masquerade_leave() - take the directories in which @name is ourselves out of PATH, for this process and its children
 * So that neither we nor what we call find us again.
 * Return: 0; -ENOENT: nobody else has that name; -ENOMEM; @reterr filled.
 */
int masquerade_leave(const char *name, struct fault *reterr);
