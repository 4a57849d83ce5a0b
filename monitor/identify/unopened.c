/* SPDX-License-Identifier: Apache-2.0 */

/* A short list: on most machines it is empty. Who finds it full takes the room of the one that would be looked for next. */

#include "monitor/identify/unopened.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 1024u
#define NS_PER_S 1000000000u

struct entry {
	struct sampler_file file;
	uint32_t n_failed;
	bool is_kept; /* the kernel side has not been told to forget it */
	uint64_t retry_ns;
};

struct unopened {
	struct entry entries[ROOM];
	size_t n;
};

struct unopened *unopened_new(void)
{
	return calloc(1, sizeof(struct unopened));
}

void unopened_free(struct unopened *unopened)
{
	free(unopened);
}

static struct entry *entry_find(struct unopened *unopened, const struct sampler_file *file)
{
	for (size_t i = 0; i < unopened->n; i++)
		if (memcmp(&unopened->entries[i].file, file, offsetof(struct sampler_file, size)) == 0)
			return &unopened->entries[i];
	return NULL;
}

static struct entry *next_one(struct unopened *unopened)
{
	struct entry *next = &unopened->entries[0];

	for (size_t i = 1; i < unopened->n; i++)
		if (unopened->entries[i].retry_ns < next->retry_ns)
			next = &unopened->entries[i];
	return next;
}

static uint64_t wait_ns(uint32_t n_failed)
{
	uint32_t doubled = MIN(n_failed - UNOPENED_AT_ONCE - 1, 31u);

	return MIN((uint64_t)UNOPENED_FIRST_S << doubled, (uint64_t)UNOPENED_LONGEST_S) * NS_PER_S;
}

bool unopened_waits(struct unopened *unopened, const struct sampler_file *file, uint64_t now_ns)
{
	const struct entry *entry = entry_find(unopened, file);

	return entry && now_ns < entry->retry_ns;
}

/* Return: the kernel side is to forget @retforget, who had the room. */
static bool entry_add(struct unopened *unopened, const struct sampler_file *file, uint64_t now_ns,
		      struct sampler_file *retforget)
{
	bool is_full = unopened->n == ROOM;
	struct entry *entry = is_full ? next_one(unopened) : &unopened->entries[unopened->n++];
	bool is_kept = is_full && entry->is_kept;

	*retforget = is_kept ? entry->file : *file;
	/* One can be forgotten at a time: then this one's turn comes with the next that are due. */
	*entry = (struct entry){ .file = *file, .n_failed = 1, .is_kept = is_kept, .retry_ns = now_ns };
	return true;
}

bool unopened_failed(struct unopened *unopened, const struct sampler_file *file, uint64_t now_ns,
		     struct sampler_file *retforget)
{
	struct entry *entry = entry_find(unopened, file);

	if (!entry)
		return entry_add(unopened, file, now_ns, retforget);
	*retforget = *file;
	entry->n_failed += entry->n_failed < UINT32_MAX;
	entry->is_kept = entry->n_failed > UNOPENED_AT_ONCE;
	entry->retry_ns = now_ns + (entry->is_kept ? wait_ns(entry->n_failed) : 0);
	return !entry->is_kept;
}

void unopened_found(struct unopened *unopened, const struct sampler_file *file)
{
	struct entry *entry = entry_find(unopened, file);

	if (entry)
		*entry = unopened->entries[--unopened->n];
}

bool unopened_due(struct unopened *unopened, uint64_t now_ns, struct sampler_file *ret)
{
	for (size_t i = 0; i < unopened->n; i++) {
		struct entry *entry = &unopened->entries[i];

		if (!entry->is_kept || now_ns < entry->retry_ns)
			continue;
		entry->is_kept = false;
		*ret = entry->file;
		return true;
	}
	return false;
}
