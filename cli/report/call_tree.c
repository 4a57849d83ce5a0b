/* SPDX-License-Identifier: Apache-2.0 */

/*
 * 1. frames of one address are one place
 * 2. places in order of image: each file's names are read once, and let go before the next
 * 3. frames of one name and image, below one caller, are one call: callers come first in the stacks, so one pass does it
 * 4. weights go up to the callers, from the last call to the first; callees in order of weight
 */

#include "cli/report/call_tree.h"

#include <errno.h>
#include <string.h>

#include "cli/shared/procedures.h"

void call_tree_done(struct call_tree *calls)
{
	free(calls->places);
	free(calls->place_of);
	free(calls->list);
	arena_free(calls->strings);
	*calls = (struct call_tree){ 0 };
}

/* --- steps 1 and 2 -------------------------------------------------------------------------------- */

/* A place, before it has a name. */
struct site {
	struct stack_frame frame;
	uint32_t place;
};

static int sites_make(const struct stacks *stacks, struct call_tree *calls, struct site *sites)
{
	_clean_(interned_done) struct interned index = { 0 };

	for (size_t i = 0; i < stacks->n_nodes; i++) {
		const struct stack_frame *frame = &stacks->nodes[i].frame;
		uint64_t hash = interned_numbers_hash(&index, frame->image, frame->offset), at = hash;
		uint32_t number;

		while ((number = interned_next(&index, hash, &at)) != INTERNED_NONE)
			if (sites[number].frame.image == frame->image &&
			    sites[number].frame.offset == frame->offset)
				break;
		if (number == INTERNED_NONE) {
			number = (uint32_t)calls->n_places++;
			sites[number] = (struct site){ *frame, number };
			if (interned_put(&index, hash, number) < 0)
				return -ENOMEM;
		}
		calls->place_of[i] = number;
	}
	return 0;
}

static int by_image(const void *pa, const void *pb)
{
	const struct site *a = pa, *b = pb;

	if (a->frame.image != b->frame.image)
		return a->frame.image < b->frame.image ? -1 : 1;
	return (a->frame.offset > b->frame.offset) - (a->frame.offset < b->frame.offset);
}

static bool has_procedures(const struct sample_module *image)
{
	return image->kind == SAMPLE_MODULE_FILE || image->kind == SAMPLE_MODULE_KERNEL ||
	       image->kind == SAMPLE_MODULE_VDSO;
}

/* The same name is the same text, so that what comes next may compare pointers. */
static int place_name_set(struct call_tree *calls, const char *name, const char **last,
			  struct call_place *place)
{
	if (!name)
		return 0;
	if (!*last || strcmp(*last, name) != 0)
		*last = arena_strndup(calls->strings, name, strlen(name));
	place->procedure = *last;
	return *last ? 0 : -ENOMEM;
}

static int places_name(const struct stacks *stacks, const char *debug_dir, const struct site *sites,
		       struct call_tree *calls)
{
	_clean_(procedures_freep) struct procedures *procedures = NULL;
	enum procedures_lack lack;
	const char *last = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < calls->n_places; i++) {
		const struct sample_module *image = &stacks->images[sites[i].frame.image];
		struct call_place *place = &calls->places[sites[i].place];
		struct procedure_place found;

		*place = (struct call_place){ .image = image->path, .identity = image };
		if ((int)image->kind == STACK_CUT)
			place->image = stack_cut_name(sites[i].frame.offset);
		if (!i || sites[i - 1].frame.image != sites[i].frame.image) {
			struct procedures_question question = { image, NULL, debug_dir, false };

			procedures_free(procedures);
			procedures = has_procedures(image) ? procedures_open(&question, &lack) : NULL;
			if (has_procedures(image) && !procedures)
				return -ENOMEM;
			last = NULL;
		}
		if (!procedures)
			continue;
		found = procedure_place(procedures, sites[i].frame.offset);
		place->address = found.address;
		place->procedure_offset = found.start ? found.address - found.start : 0;
		r = place_name_set(calls, found.name, &last, place);
	}
	return r;
}

/* --- steps 3 and 4 -------------------------------------------------------------------------------- */

static bool is_same_call(const struct call_place *a, const struct call_place *b)
{
	if (strcmp(a->image, b->image) != 0)
		return false;
	return a->procedure == b->procedure ||
	       (a->procedure && b->procedure && strcmp(a->procedure, b->procedure) == 0);
}

static uint64_t call_hash(struct interned *index, uint32_t parent, const struct call_place *place)
{
	const char *name = place->procedure ? place->procedure : place->image;

	return interned_numbers_hash(index, parent, interned_hash(index, name, strlen(name)));
}

static int calls_unite(const struct stacks *stacks, struct call_tree *calls, uint32_t *call_of)
{
	_clean_(interned_done) struct interned index = { 0 };

	for (size_t i = 0; i < stacks->n_nodes; i++) {
		const struct stack_node *node = &stacks->nodes[i];
		const struct call_place *place = &calls->places[calls->place_of[i]];
		uint32_t parent = node->parent == STACKS_ROOT ? STACKS_ROOT : call_of[node->parent], number;
		uint64_t hash = call_hash(&index, parent, place), at = hash;

		while ((number = interned_next(&index, hash, &at)) != INTERNED_NONE)
			if (calls->list[number].parent == parent &&
			    is_same_call(calls->list[number].place, place))
				break;
		if (number == INTERNED_NONE) {
			number = (uint32_t)calls->n++;
			calls->list[number] = (struct call){ place, 0, parent, STACKS_ROOT, STACKS_ROOT };
			if (interned_put(&index, hash, number) < 0)
				return -ENOMEM;
		}
		call_of[i] = number;
		calls->list[number].weight += node->weight;
		calls->weight += node->weight;
	}
	return 0;
}

struct weighed {
	uint32_t call;
	double weight;
};

static int lightest_first(const void *pa, const void *pb)
{
	const struct weighed *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight > b->weight ? 1 : -1;
	return (a->call < b->call) - (a->call > b->call);
}

/* Each is put before what is there: so the heaviest, put last, is first. */
static int calls_order(struct call_tree *calls)
{
	_clean_(freep) struct weighed *order = calloc(calls->n + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = calls->n; i-- > 0;)
		if (calls->list[i].parent != STACKS_ROOT)
			calls->list[calls->list[i].parent].weight += calls->list[i].weight;
	for (size_t i = 0; i < calls->n; i++)
		order[i] = (struct weighed){ (uint32_t)i, calls->list[i].weight };
	if (calls->n)
		qsort(order, calls->n, sizeof(*order), lightest_first);
	for (size_t i = 0; i < calls->n; i++) {
		struct call *call = &calls->list[order[i].call];
		uint32_t *first =
			call->parent == STACKS_ROOT ? &calls->first : &calls->list[call->parent].first;

		call->next = *first;
		*first = order[i].call;
	}
	return 0;
}

int call_tree_make(const struct ran *ran, const char *debug_dir, struct call_tree *ret)
{
	const struct stacks *stacks = &ran->stacks;
	_clean_(freep) struct site *sites = calloc(stacks->n_nodes + 1, sizeof(*sites));
	_clean_(freep) uint32_t *call_of = calloc(stacks->n_nodes + 1, sizeof(*call_of));
	int r;

	*ret = (struct call_tree){ .places = calloc(stacks->n_nodes + 1, sizeof(*ret->places)),
				   .place_of = calloc(stacks->n_nodes + 1, sizeof(*ret->place_of)),
				   .list = calloc(stacks->n_nodes + 1, sizeof(*ret->list)),
				   .strings = arena_new(),
				   .first = STACKS_ROOT };
	r = sites && call_of && ret->places && ret->place_of && ret->list && ret->strings ? 0 : -ENOMEM;
	if (r == 0)
		r = sites_make(stacks, ret, sites);
	if (r == 0 && ret->n_places)
		qsort(sites, ret->n_places, sizeof(*sites), by_image);
	if (r == 0)
		r = places_name(stacks, debug_dir, sites, ret);
	if (r == 0)
		r = calls_unite(stacks, ret, call_of);
	return r < 0 ? r : calls_order(ret);
}
