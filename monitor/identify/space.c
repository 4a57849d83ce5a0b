/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Processes hang in a chained hash table by PID that doubles when it holds as many processes as
 * chains. Ranges of a process never overlap: mapping trims or splits what it covers, as mmap(2) with
 * MAP_FIXED does.
 */

#include "monitor/identify/space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "monitor/identify/hash.h"

#define MIN_CHAINS 64u

struct space {
	struct space *next; /* in its chain */
	pid_t pid;
	unsigned n_threads;
	char comm[16];
	struct space_range *ranges; /* owned; sorted by start, disjoint */
	size_t n_ranges, capacity;
};

struct space_table {
	struct space **chains; /* owned */
	size_t n_chains, n_spaces;
};

struct space_table *space_table_new(void)
{
	struct space_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->n_chains = MIN_CHAINS;
	table->chains = calloc(table->n_chains, sizeof(*table->chains));
	if (!table->chains) {
		free(table);
		return NULL;
	}
	return table;
}

static void space_free(struct space *space)
{
	free(space->ranges);
	free(space);
}

void space_table_free(struct space_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n_chains; i++)
		while (table->chains[i]) {
			struct space *space = table->chains[i];

			table->chains[i] = space->next;
			space_free(space);
		}
	free(table->chains);
	free(table);
}

static struct space **chain_of(const struct space_table *table, pid_t pid)
{
	return &table->chains[hash_u64((uint64_t)pid) & (table->n_chains - 1)];
}

static struct space *space_of(const struct space_table *table, pid_t pid)
{
	struct space *space = *chain_of(table, pid);

	while (space && space->pid != pid)
		space = space->next;
	return space;
}

static void table_grow(struct space_table *table)
{
	struct space_table larger = { .n_chains = table->n_chains * 2, .n_spaces = table->n_spaces };

	larger.chains = calloc(larger.n_chains, sizeof(*larger.chains));
	if (!larger.chains)
		return; /* longer chains still work */
	for (size_t i = 0; i < table->n_chains; i++)
		while (table->chains[i]) {
			struct space *space = table->chains[i], **chain = chain_of(&larger, space->pid);

			table->chains[i] = space->next;
			space->next = *chain;
			*chain = space;
		}
	free(table->chains);
	*table = larger;
}

static struct space *space_add(struct space_table *table, pid_t pid)
{
	struct space *space = space_of(table, pid), **chain;

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	if (!space)
		return NULL;
	if (table->n_spaces >= table->n_chains)
		table_grow(table);
	chain = chain_of(table, pid);
	*space = (struct space){ .next = *chain, .pid = pid, .n_threads = 1 };
	*chain = space;
	table->n_spaces++;
	return space;
}

static void space_remove(struct space_table *table, pid_t pid)
{
	for (struct space **at = chain_of(table, pid); *at; at = &(*at)->next)
		if ((*at)->pid == pid) {
			struct space *space = *at;

			*at = space->next;
			space_free(space);
			table->n_spaces--;
			return;
		}
}

/* Index of the first range that ends behind @address. */
static size_t first_after(const struct space *space, uint64_t address)
{
	return LOWER_BOUND(0, space->n_ranges, middle, space->ranges[middle].end <= address);
}

static int space_reserve(struct space *space, size_t more)
{
	size_t capacity = MAX(space->capacity, (size_t)8);
	void *ranges;

	while (capacity < space->n_ranges + more)
		capacity *= 2;
	if (capacity == space->capacity)
		return 0;
	ranges = reallocarray(space->ranges, capacity, sizeof(*space->ranges));
	if (!ranges)
		return -ENOMEM;
	space->ranges = ranges;
	space->capacity = capacity;
	return 0;
}

int space_map(struct space_table *table, pid_t pid, const struct space_range *range)
{
	struct space *space = range->start < range->end ? space_add(table, pid) : NULL;
	struct space_range keep[3];
	size_t first, last, n = 0;

	if (range->start >= range->end)
		return 0;
	/* Splitting one range in two, and the new one between them: two more at most. */
	if (!space || space_reserve(space, 2) < 0)
		return -ENOMEM;
	first = last = first_after(space, range->start);
	while (last < space->n_ranges && space->ranges[last].start < range->end)
		last++;
	if (first < last && space->ranges[first].start < range->start) {
		keep[n] = space->ranges[first];
		keep[n++].end = range->start;
	}
	keep[n++] = *range;
	if (first < last && space->ranges[last - 1].end > range->end) {
		keep[n] = space->ranges[last - 1];
		keep[n].offset += range->end - keep[n].start;
		keep[n++].start = range->end;
	}
	memmove(&space->ranges[first + n], &space->ranges[last],
		(space->n_ranges - last) * sizeof(*space->ranges));
	memcpy(&space->ranges[first], keep, n * sizeof(*keep));
	space->n_ranges = space->n_ranges - (last - first) + n;
	return 0;
}

int space_fork(struct space_table *table, pid_t child, pid_t parent)
{
	struct space *from = space_of(table, parent), *to;

	if (child == parent) {
		if (from)
			from->n_threads++;
		return 0;
	}
	space_remove(table, child); /* the PID was used before */
	to = space_add(table, child);
	if (!to)
		return -ENOMEM;
	if (from)
		memcpy(to->comm, from->comm, sizeof(to->comm));
	if (!from || !from->n_ranges)
		return 0;
	if (space_reserve(to, from->n_ranges) < 0)
		return -ENOMEM;
	memcpy(to->ranges, from->ranges, from->n_ranges * sizeof(*to->ranges));
	to->n_ranges = from->n_ranges;
	return 0;
}

void space_exec(struct space_table *table, pid_t pid)
{
	struct space *space = space_of(table, pid);

	if (!space)
		return;
	space->n_ranges = 0;
	space->n_threads = 1;
}

void space_exit(struct space_table *table, pid_t pid)
{
	struct space *space = space_of(table, pid);

	if (space && --space->n_threads == 0)
		space_remove(table, pid);
}

int space_set_threads(struct space_table *table, pid_t pid, unsigned n_threads)
{
	struct space *space = space_add(table, pid);

	if (!space)
		return -ENOMEM;
	space->n_threads = MAX(n_threads, 1u);
	return 0;
}

int space_set_comm(struct space_table *table, pid_t pid, const char *comm)
{
	struct space *space = space_add(table, pid);

	if (!space)
		return -ENOMEM;
	snprintf(space->comm, sizeof(space->comm), "%s", comm);
	return 0;
}

const char *space_comm(const struct space_table *table, pid_t pid)
{
	const struct space *space = space_of(table, pid);

	return space && space->comm[0] ? space->comm : "?";
}

bool space_is_known(const struct space_table *table, pid_t pid)
{
	return space_of(table, pid);
}

const struct space_range *space_find(const struct space_table *table, pid_t pid, uint64_t address)
{
	const struct space *space = space_of(table, pid);
	size_t i = space ? first_after(space, address) : 0;

	if (!space || i == space->n_ranges || space->ranges[i].start > address)
		return NULL;
	return &space->ranges[i];
}
