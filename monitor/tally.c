/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/hash.h"

#define MIN_CAPACITY 1024u

static struct tally_entry *slot_of(struct tally_entry *entries, size_t capacity, uint32_t module,
				   uint64_t a, uint64_t b)
{
	size_t i = hash_u64(a + hash_u64(b + module)) & (capacity - 1);

	while (entries[i].count &&
	       (entries[i].a != a || entries[i].b != b || entries[i].module != module))
		i = (i + 1) & (capacity - 1);
	return &entries[i];
}

static int tally_grow(struct tally *tally)
{
	size_t capacity = tally->capacity ? tally->capacity * 2 : MIN_CAPACITY;
	struct tally_entry *entries = calloc(capacity, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < tally->capacity; i++) {
		const struct tally_entry *old = &tally->entries[i];

		if (old->count)
			*slot_of(entries, capacity, old->module, old->a, old->b) = *old;
	}
	free(tally->entries);
	tally->entries = entries;
	tally->capacity = capacity;
	return 0;
}

int tally_add(struct tally *tally, uint32_t module, uint64_t a, uint64_t b, uint64_t count)
{
	struct tally_entry *slot;

	if (!count)
		return 0;
	if (tally->n >= tally->capacity / 4 * 3) {
		int r = tally_grow(tally);

		if (r < 0)
			return r;
	}
	slot = slot_of(tally->entries, tally->capacity, module, a, b);
	if (!slot->count) {
		*slot = (struct tally_entry){ .a = a, .b = b, .module = module };
		tally->n++;
	}
	slot->count += count;
	tally->total += count;
	return 0;
}

void tally_clear(struct tally *tally)
{
	if (tally->capacity > MIN_CAPACITY && tally->n < tally->capacity / 8) {
		tally_done(tally);
		return;
	}
	if (tally->n)
		memset(tally->entries, 0, tally->capacity * sizeof(*tally->entries));
	tally->n = 0;
	tally->total = 0;
}

void tally_done(struct tally *tally)
{
	free(tally->entries);
	*tally = (struct tally){ 0 };
}
