/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * symbols.h - names that someone outside the IR may look for
 */

#include "editor/ir/ir.h"
#include "module/image.h"
#include "module/link_plan.h"

/**
 * symbols_collect() - add to @ret: what the shipped file exports, what its native objects leave
 * undefined, and every word of the linker's arguments (entry points, -u, --defsym, --wrap ...)
 * Return: 0; -EBADMSG when a native object is damaged; -ENOMEM; @reterr filled.
 */
int symbols_collect(const struct image *program, const struct link_plan *plan, struct name_set *ret,
		    struct fault *reterr);

/** symbols_of_options() - add to @ret every word of the linker's arguments, and what --wrap makes of them. Return: 0 or -ENOMEM */
int symbols_of_options(const struct link_plan *plan, struct name_set *ret);

/** symbols_wrapped() - add to @ret the names whose uses the linker leads elsewhere (--wrap). Return: 0 or -ENOMEM */
int symbols_wrapped(const struct link_plan *plan, struct name_set *ret);

/**
 * symbols_imports() - add to @ret the functions whose place the shipped file leaves to the dynamic linker, and that are sure to be
 * found when it is loaded: what it imports (a library: from libraries that it names) and, if it is a library, what it exports,
 * which another file may define before it. Return: 0 or -ENOMEM.
 */
int symbols_imports(const struct image *program, struct name_set *ret);
