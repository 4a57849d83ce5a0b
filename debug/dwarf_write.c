/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "debug/dwarf_write.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "debug/line_program.h"
#include "module/array.h"

#define HEADER 11u /* bytes of a unit's header in .debug_info */

/* Codes of the abbreviations: one range, or several. */
enum { UNIT = 1, INLINE, FUNCTION, FUNCTION_RANGES, INLINED, INLINED_RANGES };

static const struct {
	uint8_t code, tag, has_children;
	uint8_t attributes[9][2]; /* name, form; up to zeros */
} abbreviations[] = {
	{ UNIT,
	  DW_TAG_compile_unit,
	  DW_CHILDREN_yes,
	  { { DW_AT_producer, DW_FORM_string },
	    { DW_AT_language, DW_FORM_data2 },
	    { DW_AT_name, DW_FORM_string },
	    { DW_AT_comp_dir, DW_FORM_string },
	    { DW_AT_stmt_list, DW_FORM_sec_offset },
	    { DW_AT_low_pc, DW_FORM_addr },
	    { DW_AT_ranges, DW_FORM_sec_offset } } },
	{ INLINE,
	  DW_TAG_subprogram,
	  DW_CHILDREN_no,
	  { { DW_AT_name, DW_FORM_string },
	    { DW_AT_linkage_name, DW_FORM_string },
	    { DW_AT_decl_file, DW_FORM_udata },
	    { DW_AT_decl_line, DW_FORM_udata },
	    { DW_AT_inline, DW_FORM_data1 } } },
	{ FUNCTION,
	  DW_TAG_subprogram,
	  DW_CHILDREN_yes,
	  { { DW_AT_name, DW_FORM_string },
	    { DW_AT_linkage_name, DW_FORM_string },
	    { DW_AT_decl_file, DW_FORM_udata },
	    { DW_AT_decl_line, DW_FORM_udata },
	    { DW_AT_low_pc, DW_FORM_addr },
	    { DW_AT_high_pc, DW_FORM_data8 } } },
	{ FUNCTION_RANGES,
	  DW_TAG_subprogram,
	  DW_CHILDREN_yes,
	  { { DW_AT_name, DW_FORM_string },
	    { DW_AT_linkage_name, DW_FORM_string },
	    { DW_AT_decl_file, DW_FORM_udata },
	    { DW_AT_decl_line, DW_FORM_udata },
	    { DW_AT_ranges, DW_FORM_sec_offset } } },
	{ INLINED,
	  DW_TAG_inlined_subroutine,
	  DW_CHILDREN_yes,
	  { { DW_AT_abstract_origin, DW_FORM_ref4 },
	    { DW_AT_low_pc, DW_FORM_addr },
	    { DW_AT_high_pc, DW_FORM_data8 },
	    { DW_AT_call_file, DW_FORM_udata },
	    { DW_AT_call_line, DW_FORM_udata },
	    { DW_AT_call_column, DW_FORM_udata } } },
	{ INLINED_RANGES,
	  DW_TAG_inlined_subroutine,
	  DW_CHILDREN_yes,
	  { { DW_AT_abstract_origin, DW_FORM_ref4 },
	    { DW_AT_ranges, DW_FORM_sec_offset },
	    { DW_AT_call_file, DW_FORM_udata },
	    { DW_AT_call_line, DW_FORM_udata },
	    { DW_AT_call_column, DW_FORM_udata } } },
};

/* A function that is inlined somewhere, and the offset of what says so. */
struct inline_entry {
	const char *name, *linkage;
	uint32_t offset;
};

struct unit {
	struct buffer entries; /* behind the unit's own */
	size_t first;	       /* offset of entries from the start of the unit */
	struct line_program lines;
	struct inline_entry *inlines;	/* owned */
	struct described_range *ranges; /* owned */
	size_t n_inlines, inlines_capacity, n_ranges, ranges_capacity;
	const struct source_unit *source;
};

struct dwarf_writer {
	const struct source *source;
	struct unit **units;  /* owned; by place in source->units[], NULL where nothing was said yet */
	struct buffer ranges; /* .debug_ranges */
};

static void unit_free(struct unit *unit)
{
	if (!unit)
		return;
	buffer_done(&unit->entries);
	line_program_done(&unit->lines);
	free(unit->inlines);
	free(unit->ranges);
	free(unit);
}

void dwarf_writer_free(struct dwarf_writer *writer)
{
	if (!writer)
		return;
	for (size_t i = 0; writer->units && i < writer->source->n_units; i++)
		unit_free(writer->units[i]);
	free(writer->units);
	buffer_done(&writer->ranges);
	free(writer);
}

int dwarf_writer_new(const struct source *source, struct dwarf_writer **ret)
{
	_clean_(dwarf_writer_freep) struct dwarf_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return -ENOMEM;
	writer->source = source;
	writer->units = calloc(source->n_units + 1, sizeof(*writer->units));
	if (!writer->units)
		return -ENOMEM;
	*ret = TAKE(writer);
	return 0;
}

void dwarf_sections_done(struct dwarf_sections *s)
{
	buffer_done(&s->info);
	buffer_done(&s->abbrev);
	buffer_done(&s->line);
	buffer_done(&s->ranges);
	buffer_done(&s->aranges);
}

static void text_put(struct buffer *to, const char *text)
{
	buffer_bytes(to, text, strlen(text) + 1);
}

/* What comes before the unit's line program and ranges are known is as long as what comes then. */
static void unit_entry_put(const struct unit *unit, struct buffer *to, uint32_t line, uint32_t ranges)
{
	buffer_uleb(to, UNIT);
	text_put(to, unit->source->producer);
	buffer_u16(to, (uint16_t)unit->source->language);
	text_put(to, unit->source->name);
	text_put(to, unit->source->directory);
	buffer_u32(to, line);
	buffer_u64(to, 0);
	buffer_u32(to, ranges);
}

static int unit_get(struct dwarf_writer *writer, uint32_t index, struct unit **ret)
{
	_clean_(buffer_donep) struct buffer measure = { 0 };
	struct unit *unit = writer->units[index];

	if (!unit) {
		unit = writer->units[index] = calloc(1, sizeof(*unit));
		if (!unit)
			return -ENOMEM;
		unit->source = &writer->source->units[index];
		if (line_program_init(&unit->lines, writer->source, unit->source->directory) < 0)
			return -ENOMEM;
		unit_entry_put(unit, &measure, 0, 0);
		unit->first = HEADER + measure.size;
	}
	*ret = unit;
	return 0;
}

static uint32_t ranges_put(struct dwarf_writer *writer, const struct described_range *ranges, size_t n)
{
	uint32_t offset = (uint32_t)writer->ranges.size;

	for (size_t i = 0; i < n; i++) {
		buffer_u64(&writer->ranges, ranges[i].start);
		buffer_u64(&writer->ranges, ranges[i].end);
	}
	buffer_u64(&writer->ranges, 0);
	buffer_u64(&writer->ranges, 0);
	return offset;
}

static void name_put(struct unit *unit, const struct source_scope *scope)
{
	text_put(&unit->entries, scope->name);
	text_put(&unit->entries, scope->linkage ? scope->linkage : scope->name);
	buffer_uleb(&unit->entries, line_program_file(&unit->lines, scope->file));
	buffer_uleb(&unit->entries, scope->line);
}

static const struct inline_entry *inline_find(const struct unit *unit, const struct source_scope *scope)
{
	for (size_t i = 0; i < unit->n_inlines; i++) {
		const struct inline_entry *e = &unit->inlines[i];

		if (strcmp(e->name, scope->name) == 0 && strcmp(e->linkage ?: "", scope->linkage ?: "") == 0)
			return e;
	}
	return NULL;
}

/* Before its first use, and outside of all functions. */
static int inline_need(struct unit *unit, const struct source_scope *scope)
{
	if (inline_find(unit, scope))
		return 0;
	if (!array_reserve(unit->inlines, unit->n_inlines, &unit->inlines_capacity))
		return -ENOMEM;
	unit->inlines[unit->n_inlines++] =
		(struct inline_entry){ scope->name, scope->linkage,
				       (uint32_t)(unit->first + unit->entries.size) };
	buffer_uleb(&unit->entries, INLINE);
	name_put(unit, scope);
	buffer_u8(&unit->entries, DW_INL_inlined);
	return 0;
}

static void extent_put(struct dwarf_writer *writer, struct unit *unit, const struct described_node *node)
{
	if (node->n_ranges == 1) {
		buffer_u64(&unit->entries, node->ranges[0].start);
		buffer_u64(&unit->entries, node->ranges[0].end - node->ranges[0].start);
	} else {
		buffer_u32(&unit->entries, ranges_put(writer, node->ranges, node->n_ranges));
	}
}

static void inlined_put(struct dwarf_writer *writer, struct unit *unit, const struct description *d,
			uint32_t parent)
{
	for (uint32_t i = parent + 1; i < d->n_nodes; i++) {
		const struct described_node *node = &d->nodes[i];

		if (node->parent != parent || !node->n_ranges)
			continue;
		buffer_uleb(&unit->entries, node->n_ranges == 1 ? INLINED : INLINED_RANGES);
		buffer_u32(&unit->entries, inline_find(unit, &writer->source->scopes[node->scope])->offset);
		extent_put(writer, unit, node);
		buffer_uleb(&unit->entries, line_program_file(&unit->lines, node->call_file));
		buffer_uleb(&unit->entries, node->call_line);
		buffer_uleb(&unit->entries, node->call_column);
		inlined_put(writer, unit, d, i);
		buffer_u8(&unit->entries, 0);
	}
}

int dwarf_writer_add(struct dwarf_writer *writer, const struct description *d)
{
	const struct source_scope *scope = &writer->source->scopes[d->nodes[0].scope];
	const struct described_node *function = &d->nodes[0];
	struct unit *unit;
	int r = unit_get(writer, scope->unit, &unit);

	if (r < 0 || !function->n_ranges)
		return r;
	for (size_t i = 1; i < d->n_nodes && r == 0; i++)
		r = inline_need(unit, &writer->source->scopes[d->nodes[i].scope]);
	if (r < 0)
		return r;
	buffer_uleb(&unit->entries, function->n_ranges == 1 ? FUNCTION : FUNCTION_RANGES);
	name_put(unit, scope);
	extent_put(writer, unit, function);
	inlined_put(writer, unit, d, 0);
	buffer_u8(&unit->entries, 0);
	for (size_t i = 0; i < function->n_ranges; i++) {
		if (!array_reserve(unit->ranges, unit->n_ranges, &unit->ranges_capacity))
			return -ENOMEM;
		unit->ranges[unit->n_ranges++] = function->ranges[i];
	}
	line_program_add(&unit->lines, d->rows, d->n_rows);
	return unit->entries.bad ? -ENOMEM : 0;
}

static void abbreviations_write(struct buffer *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(abbreviations); i++) {
		buffer_uleb(ret, abbreviations[i].code);
		buffer_uleb(ret, abbreviations[i].tag);
		buffer_u8(ret, abbreviations[i].has_children);
		for (size_t a = 0; a == 0 || abbreviations[i].attributes[a - 1][0]; a++) {
			buffer_uleb(ret, abbreviations[i].attributes[a][0]);
			buffer_uleb(ret, abbreviations[i].attributes[a][1]);
		}
	}
	buffer_u8(ret, 0);
}

static void aranges_write(const struct unit *unit, uint32_t info, struct buffer *ret)
{
	buffer_u32(ret, (uint32_t)(8 + 4 + 16 * (unit->n_ranges + 1)));
	buffer_u16(ret, 2);
	buffer_u32(ret, info);
	buffer_u8(ret, 8);
	buffer_u8(ret, 0);
	buffer_u32(ret, 0); /* pairs start at a multiple of their size */
	for (size_t i = 0; i < unit->n_ranges; i++) {
		buffer_u64(ret, unit->ranges[i].start);
		buffer_u64(ret, unit->ranges[i].end - unit->ranges[i].start);
	}
	buffer_u64(ret, 0);
	buffer_u64(ret, 0);
}

static void unit_write(struct dwarf_writer *writer, struct unit *unit, struct dwarf_sections *ret)
{
	uint32_t line = (uint32_t)ret->line.size, info = (uint32_t)ret->info.size;

	buffer_u32(&ret->info, (uint32_t)(unit->first - 4 + unit->entries.size + 1));
	buffer_u16(&ret->info, 4);
	buffer_u32(&ret->info, 0);
	buffer_u8(&ret->info, 8);
	unit_entry_put(unit, &ret->info, line, ranges_put(writer, unit->ranges, unit->n_ranges));
	buffer_bytes(&ret->info, unit->entries.data, unit->entries.size);
	buffer_u8(&ret->info, 0);
	line_program_write(&unit->lines, &ret->line);
	aranges_write(unit, info, &ret->aranges);
}

int dwarf_writer_finish(struct dwarf_writer *writer, struct dwarf_sections *ret)
{
	abbreviations_write(&ret->abbrev);
	for (size_t i = 0; i < writer->source->n_units; i++)
		if (writer->units[i])
			unit_write(writer, writer->units[i], ret);
	ret->ranges = writer->ranges;
	writer->ranges = (struct buffer){ 0 };
	if (ret->info.bad || ret->abbrev.bad || ret->line.bad || ret->ranges.bad || ret->aranges.bad)
		return -ENOMEM;
	return MAX(MAX(ret->info.size, ret->line.size), MAX(ret->ranges.size, ret->aranges.size)) >
			       UINT32_MAX ?
		       -EFBIG :
		       0;
}
