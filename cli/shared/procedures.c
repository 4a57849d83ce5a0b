/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/procedures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/search.h"
#include "cli/shared/debug_symbols.h"
#include "cli/shared/sampled_file.h"
#include "debug/source.h"
#include "module/image.h"
#include "monitor/identify/kernel_names.h"
#include "profiles/cycles/recover.h"

struct procedure {
	uint64_t address, end;
	const char *name; /* borrowed from image or symbols */
	uint8_t binding;
};

struct procedures {
	struct kernel_names *kernel; /* NULL: no kernel, or not the one that runs */
	struct image *image;	     /* NULL: there is none */
	struct image *symbols;	     /* a debug file; NULL: the image's own are used */
	struct source *source;	     /* NULL: no lines */
	struct procedure *list;	     /* owned; sorted by address, one for each */
	size_t n;
	struct recover_range
		*ranges; /* owned; all functions, with a name or without; NULL: not asked for yet */
	size_t n_ranges;
	struct arena *names; /* of those without */
};

const char *procedures_sentence(enum procedures_lack lack)
{
	switch (lack) {
	case PROCEDURES_KERNEL:
		return "is not the kernel that runs now, or hides its addresses from this user: root sees "
		       "them";
	case PROCEDURES_GONE: return "cannot be read any more";
	case PROCEDURES_REPLACED: return "was replaced since it was sampled";
	case PROCEDURES_ELSEWHERE: return "is a name in another mount namespace, and has no build ID";
	case PROCEDURES_STRIPPED: return "has no symbols; its debug package would tell";
	case PROCEDURES_NO_PLACES:
		return "is no program with Morph data: morphd keeps no places of its samples";
	case PROCEDURES_NO_LINES: return "has no debug information; its debug package would tell";
	default: return NULL;
	}
}

void procedures_free(struct procedures *procedures)
{
	if (!procedures)
		return;
	source_free(procedures->source);
	kernel_names_free(procedures->kernel);
	image_free(procedures->symbols);
	image_free(procedures->image);
	free(procedures->list);
	free(procedures->ranges);
	arena_free(procedures->names);
	free(procedures);
}

/* --- is it the file that was sampled? ------------------------------------------------------------- */

static enum procedures_lack image_find(const struct procedures_question *q, struct image **ret)
{
	char *copies[] = { (char *)q->copy };

	if (q->module->kind == SAMPLE_MODULE_FILE && q->module->space && !q->module->build_id.size)
		return PROCEDURES_ELSEWHERE;
	switch (sampled_image_open(q->module, copies, !!q->copy, ret)) {
	case SAMPLED_FILE: return PROCEDURES_KNOWN;
	case SAMPLED_NO_FILE: return PROCEDURES_NO_FILE;
	case SAMPLED_REPLACED: return PROCEDURES_REPLACED;
	default: return PROCEDURES_GONE;
	}
}

/* --- symbols -------------------------------------------------------------------------------------- */

static int compare(const void *pa, const void *pb)
{
	const struct procedure *a = pa, *b = pb;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1; /* of several names the one that says most, */
	if ((a->binding == STB_GLOBAL) != (b->binding == STB_GLOBAL))
		return a->binding == STB_GLOBAL ? -1 : 1; /* that others call it by, */
	return strcmp(a->name, b->name);
}

static int list_make(struct procedures *p, const struct image *image)
{
	size_t n = image_n_symbols(image), kept = 0;

	p->list = calloc(n + 1, sizeof(*p->list));
	if (!p->list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct image_symbol *s = image_symbol_at(image, i);
		uint64_t size = MAX(s->size, 1u);

		if ((s->type == STT_FUNC || s->type == STT_GNU_IFUNC) && s->address <= UINT64_MAX - size &&
		    s->name[0])
			p->list[p->n++] =
				(struct procedure){ s->address, s->address + size, s->name, s->binding };
	}
	if (p->n)
		qsort(p->list, p->n, sizeof(*p->list), compare);
	for (size_t i = 0; i < p->n; i++)
		if (!kept || p->list[kept - 1].address != p->list[i].address)
			p->list[kept++] = p->list[i];
	p->n = kept;
	return 0;
}

static int symbols_find(struct procedures *p, const char *debug_dir)
{
	p->symbols = debug_symbols_open(p->image, debug_dir);
	return list_make(p, p->symbols ? p->symbols : p->image);
}

struct procedures *procedures_open(const struct procedures_question *q, enum procedures_lack *retlack)
{
	_clean_(procedures_freep) struct procedures *p = calloc(1, sizeof(*p));

	if (p)
		p->names = arena_new();
	if (!p || !p->names)
		return NULL;
	if (q->module->kind == SAMPLE_MODULE_KERNEL) {
		p->kernel = kernel_names_read("", q->module->path, &q->module->build_id);
		*retlack = p->kernel || !q->module->build_id.size ? PROCEDURES_KNOWN : PROCEDURES_KERNEL;
		return TAKE(p);
	}
	*retlack = image_find(q, &p->image);
	if (*retlack != PROCEDURES_KNOWN)
		return TAKE(p);
	if (symbols_find(p, q->debug_dir) < 0)
		return NULL;
	if (q->lines && source_read(image_path(p->image), q->debug_dir, &p->source, NULL) < 0)
		*retlack = PROCEDURES_NO_LINES;
	if (!p->n)
		*retlack = PROCEDURES_STRIPPED;
	return TAKE(p);
}

static const struct procedure *named_at(const struct procedures *p, uint64_t address)
{
	size_t i = LOWER_BOUND(0, p->n, middle, p->list[middle].address <= address);

	return i && address < p->list[i - 1].end ? &p->list[i - 1] : NULL;
}

/* What has no name in the symbols: the function's address. */
static void unnamed_at(struct procedures *p, struct procedure_place *place)
{
	const struct recover_range *range;
	char text[24];

	if (!p->ranges && recover_ranges(p->image, p->symbols, &p->ranges, &p->n_ranges) < 0)
		return;
	range = recover_range_at(p->ranges, p->n_ranges, place->address);
	if (!range)
		return;
	if (!range->name || !range->name[0]) {
		snprintf(text, sizeof(text), "0x%" PRIx64, range->start);
		p->ranges[range - p->ranges].name = arena_strndup(p->names, text, strlen(text));
	}
	place->name = range->name;
	place->start = range->start;
}

struct procedure_place procedure_place(struct procedures *p, uint64_t offset)
{
	struct procedure_place place = { 0 };
	const struct procedure *procedure;

	if (p->kernel) {
		place.address = offset; /* from where the image or module begins */
		place.name = kernel_name_at(p->kernel, offset, &place.start);
		return place;
	}
	if (!p->image || !image_offset_to_address(p->image, offset, &place.address))
		return place;
	procedure = named_at(p, place.address);
	if (procedure) {
		place.name = procedure->name;
		place.start = procedure->address;
	} else {
		unnamed_at(p, &place);
	}
	return place;
}

bool procedure_line(const struct procedures *p, uint64_t offset, char ret[LINE_TEXT_BYTES])
{
	const struct source_row *row;
	uint64_t address;

	if (!p->source || !image_offset_to_address(p->image, offset, &address))
		return false;
	row = source_row_at(p->source, address);
	if (!row || row->file == SOURCE_NONE)
		return false;
	snprintf(ret, LINE_TEXT_BYTES, "%.*s:%" PRIu32, LINE_TEXT_BYTES - 16, p->source->files[row->file],
		 row->line);
	return true;
}
