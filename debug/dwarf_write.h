/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * dwarf_write.h - descriptions as DWARF 4: .debug_info, _abbrev, _line, _ranges, _aranges
 *
 * A unit of the shipped file becomes one here. Its entries are functions and what was inlined into them; nothing is said
 * of variables and types, whose places in generated code nobody knows.
 */

#include "base/bytes.h"
#include "debug/describe.h"

struct dwarf_writer;

/** dwarf_writer_new() - @source: borrowed. 0 or -ENOMEM */
int dwarf_writer_new(const struct source *source, struct dwarf_writer **ret);
void dwarf_writer_free(struct dwarf_writer *writer); /* accepts NULL */
DEFINE_CLEANUP(struct dwarf_writer *, dwarf_writer_free);

/** dwarf_writer_add() - one function; in ascending order of address. 0 or -ENOMEM */
int dwarf_writer_add(struct dwarf_writer *writer, const struct description *description);

struct dwarf_sections {
	struct buffer info, abbrev, line, ranges, aranges;
};
void dwarf_sections_done(struct dwarf_sections *sections);

/** dwarf_writer_finish() - the sections' bytes; the writer is used up. 0, -ENOMEM; -EFBIG: more than 4 GiB */
int dwarf_writer_finish(struct dwarf_writer *writer, struct dwarf_sections *ret);
