/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Processes sorted by PID, each pointing to a counted set of mappings; the mappings of a set are
 * sorted and never overlap.
 */

#include "profiles/samples/address_space.h"

#include <errno.h>
#include <string.h>

#include "base/search.h"

/* Copied before a change when more than one process uses it. */
struct mappings {
	size_t n_users;
	size_t n, capacity;
	struct address_mapping *at; /* owned */
};

struct process {
	uint32_t pid;
	struct mappings *mappings; /* counted; NULL: none */
};

struct address_spaces {
	struct process *processes; /* owned */
	size_t n, capacity;
	size_t n_mappings; /* of all sets */
};

struct address_spaces *address_spaces_new(void)
{
	return calloc(1, sizeof(struct address_spaces));
}

static void mappings_drop(struct address_spaces *spaces, struct mappings *mappings)
{
	if (!mappings || --mappings->n_users)
		return;
	spaces->n_mappings -= mappings->n;
	free(mappings->at);
	free(mappings);
}

void address_spaces_free(struct address_spaces *spaces)
{
	if (!spaces)
		return;
	for (size_t i = 0; i < spaces->n; i++)
		mappings_drop(spaces, spaces->processes[i].mappings);
	free(spaces->processes);
	free(spaces);
}

/* Index of the first process whose PID is not below @pid. */
static size_t process_bound(const struct address_spaces *spaces, uint32_t pid)
{
	return LOWER_BOUND(0, spaces->n, middle, spaces->processes[middle].pid < pid);
}

static struct process *process_find(const struct address_spaces *spaces, uint32_t pid)
{
	size_t i = process_bound(spaces, pid);

	return i < spaces->n && spaces->processes[i].pid == pid ? &spaces->processes[i] : NULL;
}

/* Added when new; NULL: out of memory. */
static struct process *process_get(struct address_spaces *spaces, uint32_t pid)
{
	size_t i = process_bound(spaces, pid);

	if (i < spaces->n && spaces->processes[i].pid == pid)
		return &spaces->processes[i];
	if (spaces->n == spaces->capacity) {
		size_t capacity = MAX(spaces->capacity * 2, 64u);
		void *processes = reallocarray(spaces->processes, capacity, sizeof(struct process));

		if (!processes)
			return NULL;
		spaces->processes = processes;
		spaces->capacity = capacity;
	}
	memmove(&spaces->processes[i + 1], &spaces->processes[i], (spaces->n - i) * sizeof(struct process));
	spaces->processes[i] = (struct process){ .pid = pid };
	spaces->n++;
	return &spaces->processes[i];
}

/* A set of the process's own with room for two mappings more; NULL: out of memory. */
static struct mappings *mappings_own(struct address_spaces *spaces, struct process *process)
{
	const struct mappings *shared = process->mappings;
	size_t n = shared ? shared->n : 0, capacity = MAX(16u, n + n / 2 + 2);
	struct mappings *own;

	if (shared && shared->n_users == 1 && shared->n + 2 <= shared->capacity)
		return process->mappings;
	own = malloc(sizeof(*own));
	if (!own)
		return NULL;
	*own = (struct mappings){ .n_users = 1, .n = n, .capacity = capacity };
	own->at = reallocarray(NULL, capacity, sizeof(*own->at));
	if (!own->at) {
		free(own);
		return NULL;
	}
	if (n)
		memcpy(own->at, shared->at, n * sizeof(*own->at));
	spaces->n_mappings += n;
	mappings_drop(spaces, process->mappings);
	process->mappings = own;
	return own;
}

/* Index of the first mapping that ends above @address. */
static size_t mapping_bound(const struct mappings *mappings, uint64_t address)
{
	return LOWER_BOUND(0, mappings->n, middle, mappings->at[middle].end <= address);
}

/* Put @new in place of the part of old ones that it covers: at most two pieces of old ones remain.
 */
static void mappings_replace(struct mappings *mappings, const struct address_mapping *new)
{
	size_t first = mapping_bound(mappings, new->start), last = first, n = 0;
	struct address_mapping pieces[3];

	while (last < mappings->n && mappings->at[last].start < new->end)
		last++;
	if (first < last && mappings->at[first].start < new->start) {
		pieces[n] = mappings->at[first];
		pieces[n++].end = new->start;
	}
	pieces[n++] = *new;
	if (first < last && mappings->at[last - 1].end > new->end) {
		pieces[n] = mappings->at[last - 1];
		pieces[n].offset += new->end - pieces[n].start;
		pieces[n++].start = new->end;
	}
	memmove(&mappings->at[first + n], &mappings->at[last], (mappings->n - last) * sizeof(*mappings->at));
	memcpy(&mappings->at[first], pieces, n * sizeof(*pieces));
	mappings->n += n - (last - first);
}

int address_spaces_map(struct address_spaces *spaces, uint32_t pid, const struct address_mapping *mapping)
{
	struct process *process = process_get(spaces, pid);
	struct mappings *mappings;

	if (!process)
		return -ENOMEM;
	if (spaces->n_mappings >= ADDRESS_SPACE_MAX_MAPPINGS)
		return -E2BIG;
	mappings = mappings_own(spaces, process);
	if (!mappings)
		return -ENOMEM;
	spaces->n_mappings -= mappings->n;
	mappings_replace(mappings, mapping);
	spaces->n_mappings += mappings->n;
	return 0;
}

int address_spaces_fork(struct address_spaces *spaces, uint32_t child, uint32_t parent)
{
	struct process *from = process_find(spaces, parent), *to;
	struct mappings *mappings = from ? from->mappings : NULL;

	if (child == parent)
		return 0;
	to = process_get(spaces, child);
	if (!to)
		return -ENOMEM;
	if (mappings)
		mappings->n_users++;
	mappings_drop(spaces, to->mappings);
	to->mappings = mappings;
	return 0;
}

int address_spaces_exec(struct address_spaces *spaces, uint32_t pid)
{
	struct process *process = process_get(spaces, pid);

	if (!process)
		return -ENOMEM;
	mappings_drop(spaces, TAKE(process->mappings));
	return 0;
}

const struct address_mapping *address_spaces_find(const struct address_spaces *spaces, uint32_t pid,
						  uint64_t address)
{
	const struct process *process = process_find(spaces, pid);
	const struct mappings *mappings = process ? process->mappings : NULL;
	size_t i = mappings ? mapping_bound(mappings, address) : 0;

	if (!mappings || i == mappings->n || mappings->at[i].start > address)
		return NULL;
	return &mappings->at[i];
}
