/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	1. every probe once, with the copies that it has in its own function and in others
 *	2. the share of each function's executions that is in copies elsewhere: first as the compiler counted, then by what was
 *	   inferred for the copies of its entry; when copies are scaled, what is left of it has the compiler's counts times that
 *	3. a block's executions are those of its probes, shared
 */

#include "editor/count/copies.h"

#include <math.h>
#include <stdlib.h>

#define CONFIDENCE 200u
#define CONFIDENCE_SHARED (CONFIDENCE / 4)
#define CONFIDENCE_COMPILER 10u /* in what it counted for a block that has no probe */

/* A function's first probe. */
#define ENTRY 1u

/* One probe. */
struct copy {
	uint64_t guid;
	uint32_t index;
	uint32_t n_own, n_others;	/* copies in its own function and in others */
	double count_own, count_others; /* sums of the compiler's */
	double executions;		/* by the profile, all together */
	double taken;			/* of them by copies in others, as inferred */
	double elsewhere;  /* share of its function that is in others; the same for all of a function */
	bool is_elsewhere; /* others have some copy of its function; the same for all of a function */
	double left;	   /* of an entry: times the compiler's counts in its function */
};

struct copies {
	struct copy *all;
	size_t n;
	const struct made_block *blocks;
	size_t n_blocks;
	bool is_settled;
};

static int by_probe(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static struct copy *copy_of(const struct copies *copies, const struct block_probe *probe)
{
	struct copy key = { .guid = probe->guid, .index = probe->index };

	return bsearch(&key, copies->all, copies->n, sizeof(key), by_probe);
}

/* Of one copy. */
static struct copy copy_make(const struct made_block *block, const struct block_probe *probe)
{
	bool is_own = probe->guid == block->guid;

	return (struct copy){ .guid = probe->guid,
			      .index = probe->index,
			      .n_own = is_own,
			      .n_others = !is_own,
			      .count_own = is_own ? block->count : 0,
			      .count_others = is_own ? 0 : block->count,
			      .is_elsewhere = !is_own,
			      .left = 1 };
}

static void copies_unite(struct copies *copies)
{
	size_t n = 0;

	qsort(copies->all, copies->n, sizeof(*copies->all), by_probe);
	for (size_t i = 0; i < copies->n; i++) {
		struct copy *last = n ? &copies->all[n - 1] : NULL, *one = &copies->all[i];

		if (!last || by_probe(last, one) != 0) {
			copies->all[n++] = *one;
			continue;
		}
		last->n_own += one->n_own;
		last->n_others += one->n_others;
		last->count_own += one->count_own;
		last->count_others += one->count_others;
		last->is_elsewhere = last->is_elsewhere || one->is_elsewhere;
	}
	copies->n = n;
}

/* The end of those of the function of @i. */
static size_t function_end(const struct copies *copies, size_t i)
{
	size_t end = i;

	while (end < copies->n && copies->all[end].guid == copies->all[i].guid)
		end++;
	return end;
}

static void elsewhere_set(struct copies *copies, size_t begin, size_t end, double share)
{
	for (size_t i = begin; i < end; i++)
		copies->all[i].elsewhere = share;
}

/* Step 1. */
static void functions_read(struct copies *copies, const struct profile *profile)
{
	for (size_t i = 0, end; i < copies->n; i = end) {
		const struct profile_function *f = profile_find(profile, copies->all[i].guid);
		const struct copy *first = &copies->all[i];
		bool is_elsewhere = false;
		double sum = first->count_own + first->count_others;

		end = function_end(copies, i);
		for (size_t k = i; k < end; k++)
			is_elsewhere = is_elsewhere || copies->all[k].is_elsewhere;
		for (size_t k = i; k < end; k++) {
			struct copy *copy = &copies->all[k];

			copy->is_elsewhere = is_elsewhere;
			if (f && copy->index && copy->index <= f->n_counts)
				copy->executions = (double)f->counts[copy->index - 1].executions;
		}
		elsewhere_set(copies, i, end, !is_elsewhere ? 0 : sum > 0 ? first->count_others / sum : 1);
	}
}

/* The compiler's count, for what is left of the function that @block is in. */
static double count_of(const struct copies *copies, const struct made_block *block)
{
	const struct copy *entry =
		copy_of(copies, &(struct block_probe){ .guid = block->guid, .index = ENTRY });

	return block->count * (entry ? entry->left : 1);
}

/* What of its executions a copy in @block has; negative: nothing tells. */
static double share_of(const struct copies *copies, const struct copy *copy, const struct made_block *block)
{
	bool is_own = copy->guid == block->guid;
	double count = is_own ? copy->count_own : copy->count_others;
	uint32_t n = is_own ? copy->n_own : copy->n_others;

	if (n > 1 && !(count > 0))
		return -1;
	return (is_own ? 1 - copy->elsewhere : copy->elsewhere) *
	       (n > 1 ? count_of(copies, block) / count : 1);
}

/* Until step 2 is done, copies of other functions are blocks like those without a probe. */
static bool does_tell(const struct copies *copies, const struct made_block *block,
		      const struct block_probe *probe)
{
	return copies->is_settled || probe->guid == block->guid;
}

/*
 * Step 3. A block that was joined from several has several probes: those with the fewest copies say most. Negative: nothing
 * tells.
 */
static double block_executions(const struct copies *copies, const struct made_block *block,
			       uint32_t *retfewest)
{
	uint32_t fewest = UINT32_MAX, n = 0;
	double sum = 0;

	for (uint32_t k = 0; k < block->n_probes; k++) {
		const struct copy *copy = copy_of(copies, &block->probes[k]);

		if (does_tell(copies, block, &block->probes[k]))
			fewest = MIN(fewest, copy->n_own + copy->n_others);
	}
	for (uint32_t k = 0; k < block->n_probes; k++) {
		const struct copy *copy = copy_of(copies, &block->probes[k]);
		double share = share_of(copies, copy, block);

		if (!does_tell(copies, block, &block->probes[k]) || share < 0 ||
		    copy->n_own + copy->n_others != fewest)
			continue;
		sum += copy->executions * share;
		n++;
	}
	*retfewest = fewest;
	return n ? sum / n : -1;
}

struct copies *copies_new(struct arena *arena, const struct profile *profile, const struct made_block *blocks,
			  size_t n_blocks)
{
	struct copies *ret = arena_array(arena, struct copies, 1);
	size_t n_probes = 0;

	for (size_t b = 0; b < n_blocks; b++)
		n_probes += blocks[b].n_probes;
	if (!ret)
		return NULL;
	*ret = (struct copies){ .all = arena_array(arena, struct copy, n_probes),
				.blocks = blocks,
				.n_blocks = n_blocks };
	if (!ret->all)
		return NULL;
	for (size_t b = 0; b < n_blocks; b++)
		for (uint32_t k = 0; k < blocks[b].n_probes; k++)
			ret->all[ret->n++] = copy_make(&blocks[b], &blocks[b].probes[k]);
	copies_unite(ret);
	functions_read(ret, profile);
	return ret;
}

void copies_take(struct copies *copies, const struct made_block *block, double executions)
{
	for (uint32_t k = 0; k < block->n_probes; k++)
		if (block->probes[k].index == ENTRY && block->probes[k].guid != block->guid)
			copy_of(copies, &block->probes[k])->taken += executions;
}

static void counts_sum(struct copies *copies)
{
	for (size_t i = 0; i < copies->n; i++)
		copies->all[i].count_own = copies->all[i].count_others = 0;
	for (size_t b = 0; b < copies->n_blocks; b++) {
		const struct made_block *block = &copies->blocks[b];
		double count = count_of(copies, block);

		for (uint32_t k = 0; k < block->n_probes; k++) {
			struct copy *copy = copy_of(copies, &block->probes[k]);

			*(block->probes[k].guid == block->guid ? &copy->count_own : &copy->count_others) +=
				count;
		}
	}
}

/* Step 2. */
void copies_settle(struct copies *copies)
{
	copies->is_settled = true;
	for (size_t i = 0, end; i < copies->n; i = end) {
		const struct copy *entry = &copies->all[i];

		end = function_end(copies, i);
		if (entry->index == ENTRY && entry->n_others && entry->executions > 0)
			elsewhere_set(copies, i, end, fmin(entry->taken / entry->executions, 1));
	}
}

void copies_scale(struct copies *copies)
{
	for (size_t i = 0; i < copies->n; i = function_end(copies, i)) {
		struct copy *entry = &copies->all[i];

		if (entry->index == ENTRY && entry->n_others && entry->executions > 0 && entry->count_own > 0)
			entry->left = (1 - entry->elsewhere) * entry->executions / entry->count_own;
	}
	counts_sum(copies);
}

/* Has the function a block that others have copies of, and this one is what is left? Then it is as uncertain as a copy. */
static bool is_left(const struct copies *copies, const struct made_block *block)
{
	for (uint32_t k = 0; k < block->n_probes; k++)
		if (block->probes[k].guid == block->guid && copy_of(copies, &block->probes[k])->is_elsewhere)
			return true;
	return false;
}

double copies_weigh(const struct copies *copies, const struct made_block *block, uint8_t *retconfidence)
{
	uint32_t fewest;
	double ret = block_executions(copies, block, &fewest);

	*retconfidence = 0;
	if (ret >= 0) {
		*retconfidence = fewest == 1 && !is_left(copies, block) ? CONFIDENCE : CONFIDENCE_SHARED;
		return ret;
	}
	if ((block->n_probes && copies->is_settled) || !block->has_count)
		return 0;
	*retconfidence = CONFIDENCE_COMPILER;
	return count_of(copies, block);
}
