/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is compared is what a loader makes of it: everything else that names a string must not see the change. So
 *	1. the text begins behind a NUL: no longer string ends with it
 *	2. no entry of the dynamic section, symbol, needed or defined version names a string in it
 *	3. the entries of the dynamic section are the same, or the same without that one and with DT_NULL at the end, which ends it
 *	   whatever its value (Meson leaves that of the entry there)
 * 1 and 2 are asked of our own link, whose section headers are the linker's.
 */

#include "editor/trust/run_path.h"

#include <string.h>

#include "module/dynamic.h"

/* Offsets in the string table that are the run path's. */
struct range {
	uint64_t from, end;
};

static bool is_in(const struct range *range, uint64_t offset)
{
	return offset >= range->from && offset < range->end;
}

/* 2: glibc's ld.so reads strings of these entries only. */
static bool entries_name(const struct dynamic *linked, size_t own, const struct range *text)
{
	for (size_t i = 0; i < linked->n_entries; i++) {
		Elf64_Dyn entry = dynamic_at(linked, i);

		switch (entry.d_tag) {
		case DT_NEEDED:
		case DT_SONAME:
		case DT_RPATH:
		case DT_RUNPATH:
		case DT_CONFIG:
		case DT_DEPAUDIT:
		case DT_AUDIT:
		case DT_AUXILIARY:
		case DT_FILTER:
			if (i != own && is_in(text, entry.d_un.d_val))
				return true;
		}
	}
	return false;
}

static bool symbols_name(const struct image *linked, const struct range *text)
{
	const struct image_section *section = image_section_find(linked, ".dynsym");
	Elf64_Sym symbol;

	for (size_t at = 0; section && section->data && section->size - at >= sizeof(symbol);
	     at += sizeof(symbol)) {
		memcpy(&symbol, section->data + at, sizeof(symbol));
		if (is_in(text, symbol.st_name))
			return true;
	}
	return false;
}

/* Copies @size bytes of a section that our own linker wrote; false: they are not there, and nothing is known of it. */
static bool record_read(const struct image_section *section, uint64_t at, void *ret, size_t size)
{
	if (!section->data || at > section->size || size > section->size - at)
		return false;
	memcpy(ret, section->data + at, size);
	return true;
}

static bool definitions_name(const struct image *linked, const struct range *text)
{
	const struct image_section *section = image_section_find(linked, ".gnu.version_d");
	Elf64_Verdef definition = { 0 };
	uint64_t at = 0;

	do {
		Elf64_Verdaux name;
		uint64_t aux;

		if (!section)
			return false;
		if (!record_read(section, at, &definition, sizeof(definition)))
			return true;
		aux = at + definition.vd_aux;
		for (unsigned i = 0; i < definition.vd_cnt; i++, aux += name.vda_next)
			if (!record_read(section, aux, &name, sizeof(name)) || is_in(text, name.vda_name))
				return true;
		at += definition.vd_next;
	} while (definition.vd_next);
	return false;
}

static bool needs_name(const struct image *linked, const struct range *text)
{
	const struct image_section *section = image_section_find(linked, ".gnu.version_r");
	Elf64_Verneed need = { 0 };
	uint64_t at = 0;

	do {
		Elf64_Vernaux name;
		uint64_t aux;

		if (!section)
			return false;
		if (!record_read(section, at, &need, sizeof(need)) || is_in(text, need.vn_file))
			return true;
		aux = at + need.vn_aux;
		for (unsigned i = 0; i < need.vn_cnt; i++, aux += name.vna_next)
			if (!record_read(section, aux, &name, sizeof(name)) || is_in(text, name.vna_name))
				return true;
		at += need.vn_next;
	} while (need.vn_next);
	return false;
}

static bool is_named_by_others(const struct dynamic *linked, size_t own, const struct range *text)
{
	return entries_name(linked, own, text) || symbols_name(linked->image, text) ||
	       definitions_name(linked->image, text) || needs_name(linked->image, text);
}

static bool is_same_entry(Elf64_Dyn a, Elf64_Dyn b)
{
	return a.d_tag == b.d_tag && a.d_un.d_val == b.d_un.d_val;
}

/* 3: does @installed have the entries of @linked but the @gone-th, then the end? */
static bool lacks_entry(const struct dynamic *installed, const struct dynamic *linked, size_t gone)
{
	for (size_t i = gone; i < linked->n_entries; i++) {
		Elf64_Dyn here = dynamic_at(installed, i), there = dynamic_at(linked, i + 1);

		if (!is_same_entry(here, there) && (here.d_tag != DT_NULL || there.d_tag != DT_NULL))
			return false;
	}
	return true;
}

struct run_path_change run_path_change_find(const struct image *installed, const struct image *linked)
{
	const struct run_path_change nothing = { 0 };
	struct run_path_change ret = { 0 };
	struct dynamic here, there;
	size_t own, n;
	const char *text;
	struct range range;

	if (dynamic_open(installed, &here, NULL) < 0 || dynamic_open(linked, &there, NULL) < 0 ||
	    here.entries != there.entries || here.n_entries != there.n_entries)
		return nothing;
	text = dynamic_run_path(&there, &own);
	if (own == SIZE_MAX || !text)
		return nothing;
	range.from = dynamic_at(&there, own).d_un.d_val;
	range.end = range.from + strlen(text);
	if (range.from == 0 || text[-1] != '\0' || is_named_by_others(&there, own, &range)) /* 1, 2 */
		return nothing;
	ret.text = (size_t)(text - (const char *)image_bytes(linked, &n));
	ret.text_end = ret.text + strlen(text);
	if (!is_same_entry(dynamic_at(&here, own), dynamic_at(&there, own))) {
		if (!lacks_entry(&here, &there, own))
			return nothing;
		ret.entries = there.entries + own * sizeof(Elf64_Dyn);
		ret.entries_end = there.entries + there.n_entries * sizeof(Elf64_Dyn);
	}
	return ret;
}

size_t run_path_change_end(const struct run_path_change *change, size_t at)
{
	if (at >= change->text && at < change->text_end)
		return change->text_end;
	return at >= change->entries && at < change->entries_end ? change->entries_end : 0;
}
