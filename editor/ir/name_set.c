/* SPDX-License-Identifier: Apache-2.0 */

/* Open addressing, linear probing, FNV-1a; grows at half full. Names are copied. */

#include "editor/ir/ir.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

struct entry {
	char *name; /* owned; NULL: free slot */
	size_t size;
};

struct name_set {
	struct entry *slots;
	size_t n_slots, n_names; /* n_slots: 0 or a power of two */
};

struct name_set *name_set_new(void)
{
	return calloc(1, sizeof(struct name_set));
}

void name_set_free(struct name_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n_slots; i++)
		free(set->slots[i].name);
	free(set->slots);
	free(set);
}

static struct entry *slot_of(const struct name_set *set, const char *name, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325u;
	size_t i;

	for (size_t k = 0; k < size; k++)
		hash = (hash ^ (uint8_t)name[k]) * 0x100000001b3u;
	for (i = hash & (set->n_slots - 1); set->slots[i].name; i = (i + 1) & (set->n_slots - 1))
		if (set->slots[i].size == size && memcmp(set->slots[i].name, name, size) == 0)
			break;
	return &set->slots[i];
}

static int grow(struct name_set *set)
{
	struct name_set bigger = { .n_slots = set->n_slots ? set->n_slots * 2 : 64 };

	bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < set->n_slots; i++)
		if (set->slots[i].name)
			*slot_of(&bigger, set->slots[i].name, set->slots[i].size) = set->slots[i];
	free(set->slots);
	set->slots = bigger.slots;
	set->n_slots = bigger.n_slots;
	return 0;
}

int name_set_add(struct name_set *set, const char *name, size_t size)
{
	struct entry *slot;

	if (set->n_names * 2 >= set->n_slots && grow(set) < 0)
		return -ENOMEM;
	slot = slot_of(set, name, size);
	if (slot->name)
		return 0;
	slot->name = malloc(size + 1);
	if (!slot->name)
		return -ENOMEM;
	memcpy(slot->name, name, size);
	slot->name[size] = '\0';
	slot->size = size;
	set->n_names++;
	return 0;
}

int name_set_add_all(struct name_set *set, const struct name_set *more)
{
	int r = 0;

	for (size_t i = 0; i < more->n_slots && r == 0; i++)
		if (more->slots[i].name)
			r = name_set_add(set, more->slots[i].name, more->slots[i].size);
	return r;
}

bool name_set_has(const struct name_set *set, const char *name, size_t size)
{
	return set->n_names && slot_of(set, name, size)->name;
}

size_t name_set_count(const struct name_set *set)
{
	return set->n_names;
}
