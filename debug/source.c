/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What was read, and how it is searched. Tables of several units, and of one that is damaged, need not be in order.
 */

#define _GNU_SOURCE
#include "debug/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "debug/source_private.h"
#include "module/array.h"

void source_free(struct source *source)
{
	if (!source)
		return;
	free(source->rows);
	free(source->units);
	free(source->scopes);
	free(source->ranges);
	free(source->functions);
	free(source->files);
	free(source->file_table);
	arena_free(source->strings);
	free(source);
}

const char *source_text(struct source *source, const char *text)
{
	return text ? arena_strndup(source->strings, text, strlen(text)) : NULL;
}

/* FNV-1a. */
static uint32_t hash_of(const char *text)
{
	uint32_t hash = 2166136261u;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 16777619u;
	return hash;
}

static bool file_table_grow(struct source *source)
{
	size_t places = source->file_places ? source->file_places * 2 : 256;
	uint32_t *table = malloc(places * sizeof(*table));

	if (!table)
		return false;
	memset(table, 0xff, places * sizeof(*table));
	for (size_t i = 0; i < source->n_files; i++) {
		size_t at = hash_of(source->files[i]) & (places - 1);

		while (table[at] != SOURCE_NONE)
			at = (at + 1) & (places - 1);
		table[at] = (uint32_t)i;
	}
	free(source->file_table);
	source->file_table = table;
	source->file_places = places;
	return true;
}

uint32_t source_file(struct source *source, const char *name)
{
	size_t at;

	if (!name || (source->n_files * 2 >= source->file_places && !file_table_grow(source)))
		return SOURCE_NONE;
	for (at = hash_of(name) & (source->file_places - 1); source->file_table[at] != SOURCE_NONE;
	     at = (at + 1) & (source->file_places - 1))
		if (strcmp(source->files[source->file_table[at]], name) == 0)
			return source->file_table[at];
	if (!array_reserve(source->files, source->n_files, &source->files_capacity))
		return SOURCE_NONE;
	source->files[source->n_files] = source_text(source, name);
	if (!source->files[source->n_files])
		return SOURCE_NONE;
	source->file_table[at] = (uint32_t)source->n_files;
	return (uint32_t)source->n_files++;
}

const struct source_row *source_row_at(const struct source *source, uint64_t address)
{
	size_t at = LOWER_BOUND(0, source->n_rows, i, source->rows[i].address <= address);

	return at && source->rows[at - 1].file != SOURCE_NONE ? &source->rows[at - 1] : NULL;
}

static bool covers(const struct source *source, uint32_t scope, uint64_t address)
{
	const struct source_scope *s = &source->scopes[scope];

	for (uint32_t i = 0; i < s->n_ranges; i++) {
		const struct source_range *range = &source->ranges[s->first_range + i];

		if (address >= range->start && address < range->end)
			return true;
	}
	return false;
}

unsigned source_scopes_at(const struct source *source, uint64_t address, uint32_t ret[SOURCE_DEPTH])
{
	size_t at = LOWER_BOUND(0, source->n_functions, i, source->functions[i].start <= address);
	uint32_t scope, end;
	unsigned n = 0;

	if (!at || address >= source->functions[at - 1].end)
		return 0;
	scope = source->functions[at - 1].scope;
	end = source->scopes[scope].end;
	ret[n++] = scope++;
	while (scope < end && n < SOURCE_DEPTH) {
		if (!covers(source, scope, address)) {
			scope = source->scopes[scope].end;
			continue;
		}
		end = source->scopes[scope].end;
		ret[n++] = scope++;
	}
	return n;
}
