/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * object.h - a relocatable object for the link of a program's own IR
 *
 * The code of what did not run was generated already, to see whether the shipped IR is the program. Instead of
 * generating it once more without what is hot, the object that holds both expects the hot symbols from elsewhere,
 * and their sections are left out of the link.
 */

#include "base/fault.h"
#include "editor/ir/ir.h"

/**
 * object_ungroup() - what the object at @path has is linked although another has the same
 *
 * A linker that compiles IR chooses among definitions before it does, and then takes the objects whole: what LLVM
 * leaves in the others (constructors with two names, slots of unwind tables) is in the shipped file, too.
 * Return: 0; -EBADMSG no ELF64 object as LLVM writes them, -errno: with @reterr.
 */
int object_ungroup(const char *path, struct fault *reterr);

/**
 * object_give_away() - make the object at @path expect @moved instead of defining them
 * @moved:  names; of symbols that are local in the object, with @suffix (partition.h)
 * @suffix: every other local symbol gets a hidden second name that ends so, for those who moved
 * @expected: those of @moved that what remains refers to are added; they must be defined elsewhere, and visible
 *
 * Sections that belong to what moves go with it: block maps, probes, jump tables, exception tables. The file is
 * replaced once all is known to fit.
 * Return: 0; -ENOTSUP when what remains is woven with what goes, or a name is not to be found: the file is as it
 * was; -EBADMSG no ELF64 object as LLVM writes them, -errno: with @reterr.
 */
int object_give_away(const char *path, const struct name_set *moved, const char *suffix,
		     struct name_set *expected, struct fault *reterr);
