/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Where functions are: starts from symbols and from the unwinder's sorted table, each as long as its symbol says, or else up
 * to the next start or the end of its section. .eh_frame_hdr: LSB Core, section 10.6.2.
 */

#include <errno.h>
#include <string.h>

#include "base/search.h"
#include "module/array.h"
#include "profiles/cycles/recover.h"

struct ranges {
	struct recover_range *list;
	size_t n, capacity;
};

/* The section of code that holds @address; NULL: it is no code. */
static const struct image_section *section_of(const struct image *image, uint64_t address)
{
	for (size_t i = 0; i < image_n_sections(image); i++) {
		const struct image_section *s = image_section_at(image, i);

		if ((s->flags & SHF_EXECINSTR) && s->data && address - s->address < s->size)
			return s;
	}
	return NULL;
}

/* @end 0: not known yet. */
static int range_add(struct ranges *ranges, uint64_t start, uint64_t end, const char *name, uint8_t binding)
{
	if (!array_reserve(ranges->list, ranges->n, &ranges->capacity))
		return -ENOMEM;
	ranges->list[ranges->n++] = (struct recover_range){ start, end, name, binding };
	return 0;
}

static int symbols_add(const struct image *image, struct ranges *ranges)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < image_n_symbols(image); i++) {
		const struct image_symbol *s = image_symbol_at(image, i);
		uint64_t end;

		if ((s->type != STT_FUNC && s->type != STT_GNU_IFUNC) ||
		    __builtin_add_overflow(s->address, s->size, &end))
			continue;
		r = range_add(ranges, s->address, s->size ? end : 0, s->name, s->binding);
	}
	return r;
}

static int32_t i32_at(const uint8_t *p)
{
	int32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/*
 * Version 1, any encoding of the pointer to .eh_frame that is four bytes, the number as udata4 (0x03), the table as pairs of
 * sdata4 from the start of the section (0x3b): what every linker writes. Anything else says nothing.
 */
static int unwinder_add(const struct image *image, struct ranges *ranges)
{
	const struct image_section *s = image_section_find(image, ".eh_frame_hdr");
	uint64_t n;
	int r = 0;

	if (!s || !s->data || s->size < 12 || s->data[0] != 1 || (s->data[1] & 0x0f) != 0x0b ||
	    s->data[2] != 0x03 || s->data[3] != 0x3b)
		return 0;
	n = MIN((uint64_t)(uint32_t)i32_at(s->data + 8), (s->size - 12) / 8);
	for (uint64_t i = 0; r == 0 && i < n; i++)
		r = range_add(ranges, s->address + (uint64_t)(int64_t)i32_at(s->data + 12 + 8 * i), 0, NULL,
			      0);
	return r;
}

static int sections_add(const struct image *image, struct ranges *ranges)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < image_n_sections(image); i++) {
		const struct image_section *s = image_section_at(image, i);

		if ((s->flags & SHF_EXECINSTR) && s->data && s->size)
			r = range_add(ranges, s->address, 0, NULL, 0);
	}
	return r;
}

/* By start; of several the one that says most comes first, then the name that others call it by: as `morph report` does. */
static int compare(const void *pa, const void *pb)
{
	const struct recover_range *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (!a->name != !b->name)
		return a->name ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	if ((a->binding == STB_GLOBAL) != (b->binding == STB_GLOBAL))
		return a->binding == STB_GLOBAL ? -1 : 1;
	return a->name && b->name ? strcmp(a->name, b->name) : 0;
}

/* One function for each start, none longer than up to the next start or the end of the section. */
static void ranges_settle(const struct image *image, struct ranges *ranges)
{
	const struct image_section *section = NULL;
	size_t kept = 0;

	if (ranges->n)
		qsort(ranges->list, ranges->n, sizeof(*ranges->list), compare);
	for (size_t i = 0; i < ranges->n; i++) {
		struct recover_range range = ranges->list[i];
		uint64_t limit;

		if (kept && ranges->list[kept - 1].start == range.start)
			continue;
		if (!section || range.start - section->address >= section->size)
			section = section_of(image, range.start);
		if (!section)
			continue;
		if (__builtin_add_overflow(section->address, section->size, &limit))
			continue; /* a section round the end of all addresses: no loader maps it */
		for (size_t k = i + 1; k < ranges->n; k++)
			if (ranges->list[k].start > range.start) {
				limit = MIN(limit, ranges->list[k].start);
				break;
			}
		range.end = range.end ? MIN(range.end, limit) : limit;
		ranges->list[kept++] = range;
	}
	ranges->n = kept;
}

int recover_ranges(const struct image *image, const struct image *symbols, struct recover_range **ret,
		   size_t *retn)
{
	struct ranges ranges = { 0 };
	int r = symbols_add(symbols ? symbols : image, &ranges);

	if (r == 0)
		r = unwinder_add(image, &ranges);
	if (r == 0)
		r = sections_add(image, &ranges);
	if (r < 0) {
		free(ranges.list);
		return r;
	}
	ranges_settle(image, &ranges);
	*ret = ranges.list;
	*retn = ranges.n;
	return 0;
}

const struct recover_range *recover_range_at(const struct recover_range *ranges, size_t n, uint64_t address)
{
	size_t i = LOWER_BOUND(0, n, middle, ranges[middle].start <= address);

	return i && address < ranges[i - 1].end ? &ranges[i - 1] : NULL;
}
