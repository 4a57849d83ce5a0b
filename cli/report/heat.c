/* SPDX-License-Identifier: Apache-2.0 */

/*
 * 1. files with places, each build once, most weight first
 * 2. those that carry Morph data: shipped, or of which shipped file a generation
 * 3. a generation and its shipped file are a pair: their places into cells and pages
 *
 * Files and logs are foreign: places outside of the text count for nothing, and the room taken is that of the places, not of
 * the sizes that a file claims.
 */

#include "cli/report/heat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shared/sampled_file.h"
#include "module/morph_data.h"

struct candidate {
	const struct build_id *build; /* borrowed from what ran */
	const struct ran_module *first;
	double weight;
	struct image *image;	/* owned; NULL: nothing to look into, or without Morph data */
	struct build_id origin; /* size 0: shipped */
};

struct candidates {
	struct candidate *list; /* owned */
	size_t n;
};

static void candidates_done(struct candidates *candidates)
{
	for (size_t i = 0; i < candidates->n; i++)
		image_free(candidates->list[i].image);
	free(candidates->list);
}

/* --- steps 1 and 2 -------------------------------------------------------------------------------- */

static bool has_places(const struct ran_module *module)
{
	return module->identity.kind == SAMPLE_MODULE_FILE && module->identity.build_id.size &&
	       module->n_counts;
}

static int by_build(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	return memcmp(a->build, b->build, sizeof(*a->build));
}

static int by_weight(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return by_build(pa, pb);
}

static int candidates_make(const struct ran *ran, struct candidates *ret)
{
	size_t n = 0, kept = 0;

	ret->list = calloc(ran->n_modules + 1, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	for (size_t i = 0; i < ran->n_modules; i++)
		if (has_places(ran->modules[i]))
			ret->list[n++] = (struct candidate){ .build = &ran->modules[i]->identity.build_id,
							     .first = ran->modules[i],
							     .weight = ran->modules[i]->weight };
	if (n)
		qsort(ret->list, n, sizeof(*ret->list), by_build);
	for (size_t i = 0; i < n; i++) {
		if (kept && by_build(&ret->list[kept - 1], &ret->list[i]) == 0)
			ret->list[kept - 1].weight += ret->list[i].weight;
		else
			ret->list[kept++] = ret->list[i];
	}
	if (kept)
		qsort(ret->list, kept, sizeof(*ret->list), by_weight);
	ret->n = MIN(kept, HEAT_FILES);
	return 0;
}

static void candidate_look(struct candidate *candidate)
{
	_clean_(image_freep) struct image *image = NULL;
	char *copies[] = { candidate->first->copy };
	struct morph_peek peek;

	if (sampled_image_open(&candidate->first->identity, copies, !!copies[0], &image) != SAMPLED_FILE ||
	    morph_data_peek(image, NULL, &peek, NULL) < 0)
		return;
	candidate->origin = peek.origin;
	candidate->image = TAKE(image);
}

/* --- step 3 --------------------------------------------------------------------------------------- */

static bool is_text(const Elf64_Phdr *segment)
{
	return segment->p_type == PT_LOAD && segment->p_flags & PF_X;
}

static uint64_t text_bytes(const struct image *image)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < image_n_segments(image); i++)
		if (is_text(image_segment_at(image, i)))
			sum = samples_add(sum, image_segment_at(image, i)->p_filesz);
	return sum;
}

/* Of memory: a segment need not begin where a page does. */
static uint64_t text_pages(const struct image *image)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < image_n_segments(image); i++) {
		const Elf64_Phdr *segment = image_segment_at(image, i);
		uint64_t start = segment->p_vaddr, last = samples_add(start, segment->p_filesz - 1);

		if (is_text(segment) && segment->p_filesz)
			sum = samples_add(sum, (last >> HEAT_PAGE_SHIFT) - (start >> HEAT_PAGE_SHIFT) + 1);
	}
	return sum;
}

/* Where in the text the file's @offset is, and in which page of memory. */
static bool text_position(const struct image *image, uint64_t offset, uint64_t *ret, uint64_t *retpage)
{
	uint64_t before = 0;

	for (size_t i = 0; i < image_n_segments(image); i++) {
		const Elf64_Phdr *segment = image_segment_at(image, i);

		if (!is_text(segment))
			continue;
		if (offset >= segment->p_offset && offset - segment->p_offset < segment->p_filesz) {
			*ret = samples_add(before, offset - segment->p_offset);
			*retpage =
				samples_add(segment->p_vaddr, offset - segment->p_offset) >> HEAT_PAGE_SHIFT;
			return true;
		}
		before = samples_add(before, segment->p_filesz);
	}
	return false;
}

struct heat_page {
	uint64_t number;
	double weight;
};

static int by_number(const void *pa, const void *pb)
{
	const struct heat_page *a = pa, *b = pb;

	return (a->number > b->number) - (a->number < b->number);
}

static int hottest_first(const void *pa, const void *pb)
{
	const struct heat_page *a = pa, *b = pb;

	return (a->weight < b->weight) - (a->weight > b->weight);
}

/* @pages: one for each place, in any order; @sum: of all weights */
static void pages_count(struct heat_page *pages, size_t n, double sum, struct heat_file *file)
{
	size_t kept = 0;
	double seen = 0;

	if (n)
		qsort(pages, n, sizeof(*pages), by_number);
	for (size_t i = 0; i < n; i++) {
		if (kept && pages[kept - 1].number == pages[i].number)
			pages[kept - 1].weight += pages[i].weight;
		else
			pages[kept++] = pages[i];
	}
	if (kept)
		qsort(pages, kept, sizeof(*pages), hottest_first);
	file->n_touched = kept;
	/* A sum of doubles may fall short of itself by its last bits. */
	while (file->n_most < kept && seen < HEAT_MOST * sum * (1 - 1e-12))
		seen += pages[file->n_most++].weight;
}

static double places_add(const struct ran_module *module, const struct image *image, uint64_t cell_bytes,
			 struct heat_file *file, struct heat_page *pages, size_t *n_pages)
{
	double sum = 0;

	for (size_t i = 0; i < module->n_counts; i++) {
		const struct ran_count *count = &module->counts[i];
		uint64_t position, page;

		if (!(count->weight > 0) || !text_position(image, count->offset, &position, &page))
			continue;
		pages[(*n_pages)++] = (struct heat_page){ page, count->weight };
		file->cells[MIN(position / cell_bytes, HEAT_CELLS - 1)] += count->weight;
		file->samples = samples_add(file->samples, count->samples);
		sum += count->weight;
	}
	return sum;
}

static bool is_of(const struct ran_module *module, const struct candidate *candidate)
{
	return has_places(module) && build_id_is_equal(&module->identity.build_id, candidate->build);
}

static int file_make(const struct ran *ran, const struct candidate *candidate, uint64_t cell_bytes,
		     struct heat_file *ret)
{
	_clean_(freep) struct heat_page *pages = NULL;
	size_t n = 0, n_places = 0;
	double sum = 0;

	ret->path = candidate->first->identity.path;
	ret->text_bytes = text_bytes(candidate->image);
	ret->n_pages = text_pages(candidate->image);
	for (size_t i = 0; i < ran->n_modules; i++)
		if (is_of(ran->modules[i], candidate))
			n_places += ran->modules[i]->n_counts;
	pages = calloc(n_places + 1, sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	for (size_t i = 0; i < ran->n_modules; i++)
		if (is_of(ran->modules[i], candidate))
			sum += places_add(ran->modules[i], candidate->image, cell_bytes, ret, pages, &n);
	pages_count(pages, n, sum, ret);
	for (size_t i = 0; i < HEAT_CELLS; i++)
		ret->cells[i] = sum > 0 ? ret->cells[i] / sum : 0;
	return 0;
}

static const struct candidate *shipped_find_among(const struct candidates *candidates,
						  const struct build_id *origin)
{
	for (size_t i = 0; i < candidates->n; i++) {
		const struct candidate *candidate = &candidates->list[i];

		if (candidate->image && !candidate->origin.size &&
		    build_id_is_equal(candidate->build, origin))
			return candidate;
	}
	return NULL;
}

static int pair_add(const struct ran *ran, const struct candidate *shipped,
		    const struct candidate *generation, struct heats *heats)
{
	struct heat_pair pair = { 0 };
	uint64_t larger = MAX(text_bytes(shipped->image), text_bytes(generation->image));
	int r;

	pair.cell_bytes = larger / HEAT_CELLS + 1;
	r = file_make(ran, shipped, pair.cell_bytes, &pair.shipped);
	if (r == 0)
		r = file_make(ran, generation, pair.cell_bytes, &pair.generation);
	if (r < 0)
		return r;
	if (!pair.shipped.n_touched || !pair.generation.n_touched)
		heats->n_alone++;
	else
		heats->list[heats->n++] = pair;
	return 0;
}

int heats_make(const struct ran *ran, struct heats *ret)
{
	_clean_(candidates_done) struct candidates candidates = { 0 };
	int r = candidates_make(ran, &candidates);

	*ret = (struct heats){ 0 };
	for (size_t i = 0; r == 0 && i < candidates.n; i++)
		candidate_look(&candidates.list[i]);
	for (size_t i = 0; r == 0 && i < candidates.n && ret->n < HEAT_PAIRS; i++) {
		const struct candidate *generation = &candidates.list[i], *shipped;

		if (!generation->image || !generation->origin.size)
			continue;
		shipped = shipped_find_among(&candidates, &generation->origin);
		if (shipped)
			r = pair_add(ran, shipped, generation, ret);
		else
			ret->n_alone++;
	}
	return r;
}
