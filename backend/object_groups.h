/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * object_groups.h - what a link took from IR although an object behind it has it, too
 *
 * Of COMDAT groups of one signature (inline functions, virtual tables) a linker takes the first. ld.lld takes IR in where it stands,
 * and puts the code that LTO makes of it behind all objects. In a link that has this code from the beginning, the objects' groups would
 * be the first. So an object is copied without the groups that IR before it has: they are left out when it is linked, and their
 * symbols are undefined in it, as ld.lld has them. So is what is weak in it and in no such group, but was taken from IR: GCC has
 * destructors in groups of other names than clang, and variables are weak by attribute.
 * Sources: System V ABI, "Section Groups"; lld/ELF/InputFiles.cpp.
 */

#include <stddef.h>
#include <stdint.h>

#include "backend/used_inputs.h"
#include "base/bytes.h"
#include "module/bitcode.h"

/* What the IR so far defines. */
struct object_groups {
	struct ir_names {
		struct bitcode_symbols groups; /* their signatures */
		struct bitcode_symbols symbols;
	} *modules; /* owned */
	size_t n, capacity;
};

/* Functions that the output has from IR, sorted. */
struct function_names {
	const char **names; /* owned; what they point to is not */
	size_t n;
};

/** function_names_sort() - once all are there */
void function_names_sort(struct function_names *names);

/** object_groups_add() - what @ir defines, which must outlive @groups; IR without a symbol table adds none. Return: 0 or -ENOMEM */
int object_groups_add(struct object_groups *groups, const struct used_input *ir);

/**
 * object_groups_leave_out() - a copy of @object without the groups that are in @groups
 * @taken: weak functions of these names, and weak variables that are in @groups, are undefined in the copy
 * @ret: stays empty when there is nothing to leave out, or the object is damaged. Return: 0 or -ENOMEM
 */
int object_groups_leave_out(const struct object_groups *groups, const struct function_names *taken,
			    const struct used_input *object, struct buffer *ret);

void object_groups_done(struct object_groups *groups);
static inline void object_groups_donep(struct object_groups *groups)
{
	object_groups_done(groups);
}
