/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A line of the map has four columns of numbers (address, load address, size, alignment), then a name; how far it is
 * indented says what it is of: 0 output section, 8 part of an input, 16 symbol in the part above (LLVM 22,
 * lld/ELF/MapFile.cpp). Folded sections are printed as "selected section A" and lines "removing identical section B".
 */

#define _GNU_SOURCE
#include "editor/trust/link_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/search.h"

#define INDENT_PART 8u
#define INDENT_SYMBOL 16u

/* A symbol and the part it is in; or a folded part and the one that stands for it. */
struct pair {
	const char *name, *part;
};

struct pairs {
	struct pair *list;
	size_t n;
};

struct link_map {
	struct arena *arena;
	struct pairs parts, symbols, folded; /* parts: name only; sorted by name, then part */
};

static int by_name(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : strcmp(x->part, y->part);
}

/* The first one of this name; NULL: there is none. */
static const struct pair *pair_find(const struct pairs *pairs, const char *name)
{
	size_t low = LOWER_BOUND(0, pairs->n, middle, strcmp(pairs->list[middle].name, name) < 0);

	return low < pairs->n && strcmp(pairs->list[low].name, name) == 0 ? &pairs->list[low] : NULL;
}

static bool pair_has(const struct pairs *pairs, const char *name, const char *part)
{
	struct pair key = { name, part };

	return bsearch(&key, pairs->list, pairs->n, sizeof(key), by_name);
}

/* "DIRECTORY/OBJECT:(SECTION)" or "...:(SECTION+0xOFFSET)" as "OBJECT:(SECTION)". */
static const char *part_name(struct arena *arena, const char *text, size_t size)
{
	const char *section = memmem(text, size, ":(", 2), *slash, *plus;
	char *name;

	if (!section)
		return arena_strndup(arena, text, size);
	slash = memrchr(text, '/', (size_t)(section - text));
	if (slash) {
		size -= (size_t)(slash + 1 - text);
		text = slash + 1;
	}
	name = arena_strndup(arena, text, size);
	plus = name ? memmem(name, size, "+0x", 3) : NULL;
	if (plus && size && name[size - 1] == ')')
		strcpy(name + (plus - name), ")");
	return name;
}

struct line {
	const char *text; /* the name, behind its indentation */
	size_t size, indent;
};

/* Behind four numbers and a blank. */
static bool line_parse(const char *text, size_t size, struct line *ret)
{
	size_t at = 0;

	for (int column = 0; column < 4; column++) {
		while (at < size && text[at] == ' ')
			at++;
		if (at == size || !strchr("0123456789abcdef", text[at]))
			return false;
		while (at < size && text[at] != ' ')
			at++;
	}
	at++;
	*ret = (struct line){ .text = text + at };
	while (at + ret->indent < size && text[at + ret->indent] == ' ')
		ret->indent++;
	ret->text += ret->indent;
	ret->size = at + ret->indent < size ? size - at - ret->indent : 0;
	return ret->size;
}

static size_t lines_count(const char *text, size_t size)
{
	size_t n = 1;

	for (const char *p = text; p && (p = memchr(p, '\n', size - (size_t)(p - text))); p++)
		n++;
	return n;
}

static int line_take(struct link_map *map, const struct line *line, const char **part)
{
	if (line->indent == INDENT_PART) {
		*part = part_name(map->arena, line->text, line->size);
		if (*part)
			map->parts.list[map->parts.n++] = (struct pair){ *part, "" };
		return *part ? 0 : -ENOMEM;
	}
	if (line->indent == INDENT_SYMBOL && *part) {
		const char *name = arena_strndup(map->arena, line->text, line->size);

		if (name)
			map->symbols.list[map->symbols.n++] = (struct pair){ name, *part };
		return name ? 0 : -ENOMEM;
	}
	*part = NULL;
	return 0;
}

static int lines_read(struct link_map *map, const char *text, size_t size)
{
	size_t n = lines_count(text, size);
	const char *part = NULL, *end = text + size;
	int r = 0;

	map->parts.list = arena_array(map->arena, struct pair, n);
	map->symbols.list = arena_array(map->arena, struct pair, n);
	if (!map->parts.list || !map->symbols.list)
		return -ENOMEM;
	while (text < end && r == 0) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t length = newline ? (size_t)(newline - text) : (size_t)(end - text);
		struct line line;

		if (line_parse(text, length, &line))
			r = line_take(map, &line, &part);
		text += length + 1;
	}
	return r;
}

static int folded_read(struct link_map *map, const char *text)
{
	static const char selected[] = "selected section ", removed[] = "  removing identical section ";
	size_t size = text ? strlen(text) : 0;
	const char *part = NULL, *end = text + size;

	map->folded.list = arena_array(map->arena, struct pair, lines_count(text, size));
	if (!map->folded.list)
		return -ENOMEM;
	while (text && text < end) {
		size_t length = (size_t)(strchrnul(text, '\n') - text);

		if (strncmp(text, selected, sizeof(selected) - 1) == 0) {
			part = part_name(map->arena, text + sizeof(selected) - 1,
					 length - sizeof(selected) + 1);
			if (!part)
				return -ENOMEM;
		} else if (part && strncmp(text, removed, sizeof(removed) - 1) == 0) {
			const char *name = part_name(map->arena, text + sizeof(removed) - 1,
						     length - sizeof(removed) + 1);

			if (!name)
				return -ENOMEM;
			map->folded.list[map->folded.n++] = (struct pair){ name, part };
		}
		text += length + 1;
	}
	return 0;
}

static void pairs_sort(struct pairs *pairs)
{
	qsort(pairs->list, pairs->n, sizeof(*pairs->list), by_name);
}

int link_map_read(const char *path, const char *folded, struct link_map **ret, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map file = { 0 };
	_clean_(link_map_freep) struct link_map *map = calloc(1, sizeof(*map));
	int r = file_map_open(path, &file, reterr);

	if (r < 0)
		return r;
	if (!map || !(map->arena = arena_new()))
		return fault_errno(reterr, -ENOMEM, "reading the linker's map");
	r = lines_read(map, (const char *)file.data, file.size);
	if (r == 0)
		r = folded_read(map, folded);
	if (r < 0)
		return fault_errno(reterr, r, "reading the linker's map");
	if (!map->parts.n)
		return fault_set(reterr, -EBADMSG, "%s: is no map of ld.lld", path);
	pairs_sort(&map->parts);
	pairs_sort(&map->symbols);
	pairs_sort(&map->folded);
	*ret = TAKE(map);
	return 0;
}

void link_map_free(struct link_map *map)
{
	if (map)
		arena_free(map->arena);
	free(map);
}

bool link_map_has(const struct link_map *map, const char *object, const char *section)
{
	char part[8192];

	if (snprintf(part, sizeof(part), "%s:(%s)", object, section) >= (int)sizeof(part))
		return false;
	return pair_find(&map->parts, part) || pair_find(&map->folded, part);
}

const char *link_map_section(const struct link_map *map, const char *symbol)
{
	const struct pair *pair = pair_find(&map->symbols, symbol);

	return pair ? pair->part : NULL;
}

static bool is_of(const char *part, const char *object)
{
	size_t n = strlen(object);

	return strncmp(part, object, n) == 0 && part[n] == ':';
}

/* Is a part of @object, which has the symbol's name, one with what defines the symbol? */
static bool is_folded(const struct link_map *map, const char *object, const struct pair *symbol)
{
	char part[8192];
	const struct pair *folded;

	if (snprintf(part, sizeof(part), "%s:(.text.%s)", object, symbol->name) >= (int)sizeof(part))
		return false;
	folded = pair_find(&map->folded, part);
	return folded && strcmp(folded->part, symbol->part) == 0;
}

bool link_map_defines(const struct link_map *map, const char *object, const char *symbol)
{
	const struct pair *end = map->symbols.list + map->symbols.n;

	for (const struct pair *p = pair_find(&map->symbols, symbol);
	     p && p < end && strcmp(p->name, symbol) == 0; p++)
		if (is_of(p->part, object) || is_folded(map, object, p))
			return true;
	return false;
}

size_t link_map_stem(const char *name)
{
	size_t n = strlen(name), digits = n;

	while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	return digits < n && digits > 2 && name[digits - 1] == 'm' && name[digits - 2] == '.' ? digits - 2 :
												n;
}

static bool symbol_is_known(const struct link_map *known, const struct pair *symbol)
{
	char stem[4096];
	size_t n = link_map_stem(symbol->name);

	if (pair_has(&known->symbols, symbol->name, symbol->part))
		return true;
	if (n >= sizeof(stem))
		return false;
	memcpy(stem, symbol->name, n);
	stem[n] = '\0';
	return pair_has(&known->symbols, stem, symbol->part);
}

int link_map_compare(const struct link_map *known, const struct link_map *made,
		     bool (*is_new)(const char *part), struct fault *reterr)
{
	for (size_t i = 0; i < made->parts.n; i++) {
		const char *part = made->parts.list[i].name;

		if (!is_new(part) && !pair_find(&known->parts, part) && !pair_find(&known->folded, part))
			return fault_set(reterr, -EBADMSG,
					 "the result was refused: %s is in it, and not in the shipped file",
					 part);
	}
	for (size_t i = 0; i < made->symbols.n; i++) {
		const struct pair *symbol = &made->symbols.list[i];

		/* A folded part has its symbols elsewhere. */
		if (!is_new(symbol->part) && !symbol_is_known(known, symbol) &&
		    !pair_find(&known->folded, symbol->part))
			return fault_set(
				reterr, -EBADMSG,
				"the result was refused: %s is defined by %s, not as in the shipped file",
				symbol->name, symbol->part);
	}
	return 0;
}
