/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * link_map.h - which part of which object is in a linked file, as ld.lld says it (--Map, --print-icf-sections)
 *
 * The file that was made once more is the shipped one, to the byte: so every part that is in it is known to be of the
 * program. A part that is not in it is known by nobody. A link plan may hold such parts: sections that nothing refers
 * to, definitions that lost against others of their name. None of them may come into a generation.
 *
 * Parts are named as "OBJECT:(SECTION)", the object without its directory.
 */

#include <stdbool.h>

#include "base/fault.h"
#include "base/macro.h"

struct link_map;

/**
 * link_map_read() - @path: what --Map wrote; @folded: what --print-icf-sections printed, or NULL
 * Return: 0; -EBADMSG when it is no map of ld.lld; -ENOMEM, -errno: with @reterr. Cost: O(lines log lines).
 */
int link_map_read(const char *path, const char *folded, struct link_map **ret, struct fault *reterr);
void link_map_free(struct link_map *map); /* accepts NULL */
DEFINE_CLEANUP(struct link_map *, link_map_free);

/** link_map_has() - is the section in the file, by itself or as one with the same content? */
bool link_map_has(const struct link_map *map, const char *object, const char *section);

/** link_map_section() - the part that defines @symbol; NULL: none does. Two of one name (local ones): any of them */
const char *link_map_section(const struct link_map *map, const char *symbol);

/** link_map_defines() - is @object's @symbol the one of that name which is in the file? */
bool link_map_defines(const struct link_map *map, const char *object, const char *symbol);

/** link_map_stem() - length of @name without the end ".mN" that a local symbol gets (partition.h) */
size_t link_map_stem(const char *name);

/**
 * link_map_compare() - came anything into @made that is not in @known?
 * @is_new: objects that @known cannot know. In the others every part must be known, and every symbol be in the
 * part in which it was; but for the end of its name.
 * Return: 0; -EBADMSG with @reterr naming it.
 */
int link_map_compare(const struct link_map *known, const struct link_map *made,
		     bool (*is_new)(const char *part), struct fault *reterr);
