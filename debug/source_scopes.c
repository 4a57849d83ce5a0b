/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Functions and what was inlined into them. Blocks, namespaces and classes only contain those.
 */

#define _GNU_SOURCE
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "debug/source_private.h"
#include "module/array.h"

#define DEPTH 128u /* of entries within entries: of information that lies */

struct walk {
	struct source *source;
	Dwarf_Files *files; /* of the unit */
	uint32_t unit;
};

static uint32_t number_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;
	Dwarf_Word value;

	if (!dwarf_attr_integrate(die, attribute, &found) || dwarf_formudata(&found, &value) != 0 ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static const char *text_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;

	return dwarf_attr_integrate(die, attribute, &found) ? dwarf_formstring(&found) : NULL;
}

/* libdw's dwarf_decl_file() and DWARF 5: file 0 is one there, and none before. */
static uint32_t file_of(struct walk *walk, Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;
	Dwarf_Word value;
	const char *name;

	if (!walk->files || !dwarf_attr_integrate(die, attribute, &found) ||
	    dwarf_formudata(&found, &value) != 0)
		return SOURCE_NONE;
	name = dwarf_filesrc(walk->files, value, NULL, NULL);
	return name && strcmp(name, "???") != 0 ? source_file(walk->source, name) : SOURCE_NONE;
}

static int ranges_read(struct walk *walk, Dwarf_Die *die, uint32_t scope)
{
	struct source *source = walk->source;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	source->scopes[scope].first_range = (uint32_t)source->n_ranges;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start >= end || !start) /* at 0: of code that the linker left out */
			continue;
		if (!array_reserve(source->ranges, source->n_ranges, &source->ranges_capacity))
			return -ENOMEM;
		source->ranges[source->n_ranges++] = (struct source_range){ start, end, scope };
		source->scopes[scope].n_ranges++;
	}
	return 0;
}

static int scope_add(struct walk *walk, Dwarf_Die *die, uint32_t parent, uint32_t *ret)
{
	struct source *source = walk->source;
	const char *linkage = text_of(die, DW_AT_linkage_name);
	bool inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
	struct source_scope *s;

	if (!array_reserve(source->scopes, source->n_scopes, &source->scopes_capacity))
		return -ENOMEM;
	*ret = (uint32_t)source->n_scopes++;
	s = &source->scopes[*ret];
	*s = (struct source_scope){ .name = source_text(source, dwarf_diename(die) ?: ""),
				    .linkage = source_text(source, linkage),
				    .file = file_of(walk, die, DW_AT_decl_file),
				    .line = number_of(die, DW_AT_decl_line),
				    .call_file = SOURCE_NONE,
				    .parent = parent,
				    .unit = walk->unit };
	if (inlined) {
		s->call_file = file_of(walk, die, DW_AT_call_file);
		s->call_line = number_of(die, DW_AT_call_line);
		s->call_column = number_of(die, DW_AT_call_column);
	}
	return s->name ? ranges_read(walk, die, *ret) : -ENOMEM;
}

static bool is_container(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_module || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block;
}

static int children_walk(struct walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth)
{
	Dwarf_Die child;
	int r = 0;

	if (depth >= DEPTH || dwarf_child(die, &child) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&child);
		bool inlined = tag == DW_TAG_inlined_subroutine && parent != SOURCE_NONE;
		uint32_t scope = parent;

		if (inlined || (tag == DW_TAG_subprogram && dwarf_haspc(&child, 0) >= 0 &&
				(dwarf_hasattr(&child, DW_AT_low_pc) || dwarf_hasattr(&child, DW_AT_ranges))))
			r = scope_add(walk, &child, inlined ? parent : SOURCE_NONE, &scope);
		else if (!is_container(tag))
			continue;
		if (r == 0)
			r = children_walk(walk, &child, scope, depth + 1);
		if (r == 0 && scope != parent)
			walk->source->scopes[scope].end = (uint32_t)walk->source->n_scopes;
	} while (r == 0 && dwarf_siblingof(&child, &child) == 0);
	return r;
}

int source_scopes_read(struct source *source, Dwarf_Die *unit, uint32_t unit_index)
{
	struct walk walk = { .source = source, .unit = unit_index };
	size_t n;

	if (dwarf_getsrcfiles(unit, &walk.files, &n) != 0)
		walk.files = NULL;
	return children_walk(&walk, unit, SOURCE_NONE, 0);
}
