/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * references.h - what a name stands for is known where the shipped file refers to it by that name
 *
 * An object may define a name that nothing of the shipped file uses: that the file came out the same says nothing
 * about it. Code that is compiled anew may use names that the shipped code did not (memcpy, where a loop was): those
 * must lead to a shared library, to a function of the IR, or to what the shipped code calls by that name.
 */

#include "base/fault.h"
#include "editor/ir/ir.h"
#include "editor/trust/link_map.h"
#include "module/link_plan.h"

/* Of all objects of the shipped link. */
struct references {
	struct name_set *used;	    /* by relocations in sections that are in the file */
	struct name_set *defined;   /* for other objects to see */
	struct name_set *contested; /* by more than one */
};

/**
 * references_collect() - add those of the object at @path
 * @object: how the map calls it
 * Return: 0; -EBADMSG no relocatable object, -ENOMEM, -errno: with @reterr
 */
int references_collect(const char *path, const char *object, const struct link_map *known,
		       struct references *ret, struct fault *reterr);

/**
 * references_check() - may the code in the object at @path, compiled anew, use the names that it uses?
 * @made:  the map of the link that it is part of
 * @known: names that the shipped code uses
 * @words: every word of the plan's options: what they may give another meaning
 * Return: 0; -EBADMSG with @reterr naming one; -ENOMEM, -errno
 */
int references_check(const char *path, const struct link_map *made, const struct name_set *known,
		     const struct name_set *words, struct fault *reterr);
