/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/identify/histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/identify/hash.h"

#define MIN_CAPACITY 1024u

static struct histogram_entry *slot_of(struct histogram_entry *entries, size_t capacity, uint32_t module,
				       uint64_t a, uint64_t b)
{
	size_t i = hash_u64(a + hash_u64(b + module)) & (capacity - 1);

	while (entries[i].count && (entries[i].a != a || entries[i].b != b || entries[i].module != module))
		i = (i + 1) & (capacity - 1);
	return &entries[i];
}

static int histogram_grow(struct histogram *histogram)
{
	size_t capacity = histogram->capacity ? histogram->capacity * 2 : MIN_CAPACITY;
	struct histogram_entry *entries = calloc(capacity, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < histogram->capacity; i++) {
		const struct histogram_entry *old = &histogram->entries[i];

		if (old->count)
			*slot_of(entries, capacity, old->module, old->a, old->b) = *old;
	}
	free(histogram->entries);
	histogram->entries = entries;
	histogram->capacity = capacity;
	return 0;
}

int histogram_add(struct histogram *histogram, uint32_t module, uint64_t a, uint64_t b, uint64_t count)
{
	struct histogram_entry *slot;

	if (!count)
		return 0;
	if (histogram->n >= histogram->capacity / 4 * 3) {
		int r = histogram_grow(histogram);

		if (r < 0)
			return r;
	}
	slot = slot_of(histogram->entries, histogram->capacity, module, a, b);
	if (!slot->count) {
		*slot = (struct histogram_entry){ .a = a, .b = b, .module = module };
		histogram->n++;
	}
	slot->count += count;
	histogram->total += count;
	return 0;
}

void histogram_clear(struct histogram *histogram)
{
	if (histogram->capacity > MIN_CAPACITY && histogram->n < histogram->capacity / 8) {
		histogram_done(histogram);
		return;
	}
	if (histogram->n)
		memset(histogram->entries, 0, histogram->capacity * sizeof(*histogram->entries));
	histogram->n = 0;
	histogram->total = 0;
}

void histogram_done(struct histogram *histogram)
{
	free(histogram->entries);
	*histogram = (struct histogram){ 0 };
}
