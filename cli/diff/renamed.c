/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/diff/renamed.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

const char *function_base_name(struct arena *arena, const char *name)
{
	static const char *const suffixes[] = { ".cold",  ".part.",	".isra.",   ".constprop.",
						".llvm.", ".lto_priv.", ".__part.", ".localalias" };
	size_t n = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		const char *at = strstr(name, suffixes[i]);

		if (at && at > name && (size_t)(at - name) < n)
			n = (size_t)(at - name);
	}
	return name[n] ? arena_strndup(arena, name, n) : name;
}

struct entry {
	struct build_function *function;
	bool after;
};

static int by_name(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	return strcmp(a->function->name, b->function->name);
}

static int by_hash(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->function->hash != b->function->hash)
		return a->function->hash < b->function->hash ? -1 : 1;
	return (int)a->after - (int)b->after;
}

static size_t entries_add(struct entry *entries, size_t n, struct build_functions *functions, bool after,
			  bool left)
{
	for (size_t i = 0; i < functions->n; i++) {
		struct build_function *f = &functions->list[i];

		if (left && !f->is_common)
			f->hash = functions->hash(functions, i);
		if (left ? !f->is_common && f->hash : f->is_named)
			entries[n++] = (struct entry){ f, after };
	}
	return n;
}

/* Equal ones, sorted, of which there are both: they have one name. */
static void commons_mark(struct entry *entries, size_t n)
{
	for (size_t first = 0, end; first < n; first = end) {
		bool sides[2] = { false, false };

		for (end = first; end < n && by_name(&entries[first], &entries[end]) == 0; end++)
			sides[entries[end].after] = true;
		for (size_t i = first; i < end; i++)
			entries[i].function->is_common = sides[0] && sides[1];
	}
}

static int renamed_join(struct entry *entries, size_t n, struct arena *arena)
{
	int renamed = 0;

	for (size_t first = 0, end; first < n; first = end) {
		struct build_function *a = entries[first].function, *b;
		size_t room;
		char *key;

		for (end = first + 1; end < n && entries[end].function->hash == a->hash; end++)
			;
		if (end - first != 2 || entries[first].after == entries[first + 1].after)
			continue;
		b = entries[first + 1].function;
		room = strlen(a->name) + strlen(b->name) + 8;
		key = arena_alloc(arena, room, 1);
		if (!key)
			return -ENOMEM;
		snprintf(key, room, "%s -> %s", a->name, b->name);
		a->key = b->key = key;
		renamed += renamed < INT_MAX;
	}
	return renamed;
}

/* Addresses of two builds have nothing to do with each other. */
static int keys_set(struct build_functions *functions, const char *which, struct arena *arena)
{
	for (size_t i = 0; i < functions->n; i++) {
		struct build_function *f = &functions->list[i];
		size_t room = strlen(f->name) + strlen(which) + 4;
		char *key;

		if (f->key || f->is_named) {
			f->key = f->key ? f->key : f->name;
			continue;
		}
		key = arena_alloc(arena, room, 1);
		if (!key)
			return -ENOMEM;
		snprintf(key, room, "%s (%s)", f->name, which);
		f->key = key;
	}
	return 0;
}

int renamed_match(struct build_functions *before, struct build_functions *after, struct arena *arena)
{
	_clean_(freep) struct entry *entries = calloc(before->n + after->n + 1, sizeof(*entries));
	size_t n;
	int renamed;

	if (!entries)
		return -ENOMEM;
	n = entries_add(entries, entries_add(entries, 0, before, false, false), after, true, false);
	if (n)
		qsort(entries, n, sizeof(*entries), by_name);
	commons_mark(entries, n);
	n = entries_add(entries, entries_add(entries, 0, before, false, true), after, true, true);
	if (n)
		qsort(entries, n, sizeof(*entries), by_hash);
	renamed = renamed_join(entries, n, arena);
	if (renamed < 0 || keys_set(before, "first", arena) < 0 || keys_set(after, "second", arena) < 0)
		return -ENOMEM;
	return renamed;
}
