/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Finding the debug information, and going over its units.
 */

#define _GNU_SOURCE
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "debug/source_private.h"
#include "module/array.h"

static int row_add(struct source *source, Dwarf_Line *line)
{
	struct source_row *row;
	Dwarf_Addr address;
	int number = 0, column = 0;
	bool end = false, statement = false;

	if (dwarf_lineaddr(line, &address) != 0 || !address)
		return 0;
	if (!array_reserve(source->rows, source->n_rows, &source->rows_capacity))
		return -ENOMEM;
	dwarf_lineno(line, &number);
	dwarf_linecol(line, &column);
	dwarf_lineendsequence(line, &end);
	dwarf_linebeginstatement(line, &statement);
	row = &source->rows[source->n_rows];
	*row = (struct source_row){ .address = address,
				    .file = end ? SOURCE_NONE :
						  source_file(source, dwarf_linesrc(line, NULL, NULL)),
				    .line = number > 0 ? (uint32_t)number : 0,
				    .column = column > 0 ? (uint32_t)column : 0,
				    .order = (uint32_t)source->n_rows,
				    .is_statement = statement };
	source->n_rows++;
	return 0;
}

int source_rows_read(struct source *source, Dwarf_Die *unit)
{
	Dwarf_Lines *lines;
	size_t n;
	int r = 0;

	if (dwarf_getsrclines(unit, &lines, &n) != 0)
		return 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = row_add(source, dwarf_onesrcline(lines, i));
	return r;
}

static int unit_read(struct source *source, Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Word language = 0;
	struct source_unit *unit;
	int r;

	if (dwarf_attr(die, DW_AT_language, &a))
		dwarf_formudata(&a, &language);
	if (!array_reserve(source->units, source->n_units, &source->units_capacity))
		return -ENOMEM;
	unit = &source->units[source->n_units];
	*unit = (struct source_unit){
		.name = source_text(source, dwarf_diename(die) ?: ""),
		.directory = source_text(source, dwarf_formstring(dwarf_attr(die, DW_AT_comp_dir, &a)) ?: ""),
		.producer = source_text(source, dwarf_formstring(dwarf_attr(die, DW_AT_producer, &a)) ?: ""),
		.language = (uint32_t)language
	};
	if (!unit->name || !unit->directory || !unit->producer)
		return -ENOMEM;
	r = source_rows_read(source, die);
	if (r == 0)
		r = source_scopes_read(source, die, (uint32_t)source->n_units);
	source->n_units++;
	return r;
}

static int units_read(struct source *source, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	uint8_t type;
	Dwarf_Die die, sub;
	int r = 0;

	while (r == 0 && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &sub) == 0) {
		if (type == DW_UT_skeleton && dwarf_tag(&sub) != 0)
			r = unit_read(source, &sub);
		else if (type == DW_UT_compile || type == DW_UT_skeleton)
			r = unit_read(source, &die);
	}
	return r;
}

/* The end of a sequence gives way to a row at the same address; of two rows the later one holds, as for debuggers. */
static int row_compare(const void *a, const void *b)
{
	const struct source_row *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if ((x->file == SOURCE_NONE) != (y->file == SOURCE_NONE))
		return x->file == SOURCE_NONE ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static int range_compare(const void *a, const void *b)
{
	const struct source_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int source_sort(struct source *source)
{
	if (source->n_rows)
		qsort(source->rows, source->n_rows, sizeof(*source->rows), row_compare);
	source->functions = calloc(source->n_ranges + 1, sizeof(*source->functions));
	if (!source->functions)
		return -ENOMEM;
	for (size_t i = 0; i < source->n_ranges; i++)
		if (source->scopes[source->ranges[i].scope].parent == SOURCE_NONE)
			source->functions[source->n_functions++] = source->ranges[i];
	qsort(source->functions, source->n_functions, sizeof(*source->functions), range_compare);
	return 0;
}

static int dwarf_find(Dwfl *dwfl, const char *path, Dwarf **ret, struct fault *reterr)
{
	Dwfl_Module *module = dwfl_report_offline(dwfl, path, path, -1);
	Dwarf_Addr bias;

	if (!module)
		return fault_set(reterr, -EBADMSG, "%s: %s", path, dwfl_errmsg(-1));
	dwfl_report_end(dwfl, NULL, NULL);
	*ret = dwfl_module_getdwarf(module, &bias);
	if (!*ret)
		return fault_set(reterr, -ENODATA,
				 "%s: has no debug information (%s); install the program's -dbgsym or "
				 "-debuginfo package, or let DEBUGINFOD_URLS name a server that has it",
				 path, dwfl_errmsg(-1));
	return 0;
}

int source_read(const char *path, const char *debug_path, struct source **ret, struct fault *reterr)
{
	char *directories = (char *)debug_path;
	Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf,
				     .find_debuginfo = dwfl_standard_find_debuginfo,
				     .section_address = dwfl_offline_section_address,
				     .debuginfo_path = &directories };
	_clean_(source_freep) struct source *source = calloc(1, sizeof(*source));
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwarf *dwarf;
	int r = 0;

	if (source)
		source->strings = arena_new();
	if (!dwfl || !source || !source->strings)
		r = fault_errno(reterr, -ENOMEM, "%s", path);
	if (r == 0)
		r = dwarf_find(dwfl, path, &dwarf, reterr);
	if (r == 0 && (units_read(source, dwarf) < 0 || source_sort(source) < 0))
		r = fault_errno(reterr, -ENOMEM, "%s", path);
	if (dwfl)
		dwfl_end(dwfl);
	if (r == 0 && !source->n_rows)
		r = fault_set(reterr, -ENODATA, "%s: its debug information has no line", path);
	if (r == 0)
		*ret = TAKE(source);
	return r;
}
