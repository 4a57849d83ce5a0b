/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/fit/branch_prior.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/macro.h"
#include "profiles/fit/fit_model.h"

#define FAR 4u	    /* instructions that a value is followed back through */
#define SIDE 4u	    /* blocks of one side that are looked into */
#define CALLEES 16u /* of one side */
#define ROUNDS 6u
#define MOST_SAMPLES 20.0 /* of one branch: it is one branch, however often it ran */
#define LEAST_SLOPE 0.02  /* of a branch that is sure already */
#define MOST_STEP 2.0

#define RETURN_REGISTER 1ull /* register 0 is what calls return, for x86-64 and aarch64 alike */

enum {
	NEAR_VALUE,
	FAR_VALUE,
	CALLEE,
	KINDS,
};

/* How strongly a number is drawn towards none: four is what 16 samples of an even branch weigh. */
static const double strength[KINDS] = { [NEAR_VALUE] = 4, [FAR_VALUE] = 3, [CALLEE] = 3 };

struct term {
	uint64_t key;
	int32_t sign;
	uint32_t number; /* in numbers[]; UINT32_MAX: nothing is known of it */
	uint32_t branch; /* in branches[] */
	uint32_t kind;
};

/* A two-way branch: its condition holds, or not. */
struct branch {
	uint32_t yes, no; /* edges */
	uint32_t first_term, n_terms;
	double start;  /* log-odds by the compiler */
	double share;  /* of its executions, as fitted */
	double weight; /* samples around it; 0: nothing is learned from it */
};

struct number {
	double value, pull, slope;
	uint32_t kind;
};

struct model {
	const struct code *code;
	const uint32_t *predecessors; /* per block */
	struct branch *branches;
	struct term *terms;
	struct number *numbers;
	uint64_t *keys; /* of numbers[], sorted */
	uint32_t n_branches, n_terms, n_numbers;
	size_t capacity; /* of terms[], which are the heap's */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
	hash *= 0xff51afd7ed558ccd;
	return hash ^ hash >> 33;
}

/* What insns[@i] makes, through up to @depth instructions before it that it waits for. */
static uint64_t value_of(const struct insn *insns, uint32_t i, unsigned depth)
{
	uint64_t needed = depth ? insns[i].reads : 0, hash = mix(insns[i].class, insns[i].what);

	if (insns[i].flow == INSN_CALLS)
		return mix(hash, insns[i].target);
	for (uint32_t j = i; needed && j-- > 0;) {
		uint64_t made = needed & (insns[j].flow == INSN_CALLS ? RETURN_REGISTER : insns[j].writes);

		if (!made)
			continue;
		hash = mix(hash, value_of(insns, j, depth - 1));
		needed &= ~made;
	}
	return hash;
}

/* ---- both sides ---- */

/* Functions that are called from @block on, before ways meet or part. Returns how many. */
static uint32_t side_callees(const struct model *m, uint32_t block, uint32_t callees[CALLEES])
{
	const struct code *code = m->code;
	uint32_t n = 0;

	for (unsigned i = 0; i < SIDE; i++) {
		const struct block *b = &code->map->blocks[block];
		const struct code_block *insns = &code->blocks[block];

		for (uint32_t k = 0; k < insns->n_insns && n < CALLEES; k++) {
			const struct insn *insn = &code->insns[insns->first_insn + k];

			if (insn->flow == INSN_CALLS && insn->target)
				callees[n++] = block_map_function_at(code->map, insn->target);
		}
		if (b->n_edges != 1 || m->predecessors[code->map->edges[b->first_edge].target] != 1)
			break;
		block = code->map->edges[b->first_edge].target;
	}
	return n;
}

static bool is_among(const uint32_t *callees, uint32_t n, uint32_t callee)
{
	for (uint32_t i = 0; i < n; i++)
		if (callees[i] == callee)
			return true;
	return false;
}

static void term_add(struct model *m, uint32_t kind, uint64_t key, int32_t sign)
{
	m->terms[m->n_terms++] =
		(struct term){ .key = mix(kind, key), .sign = sign, .branch = m->n_branches, .kind = kind };
}

/* Callees of one side that the other has not, each once. */
static void callees_add(struct model *m, const uint32_t *mine, uint32_t n_mine, const uint32_t *others,
			uint32_t n_others, int32_t sign)
{
	for (uint32_t i = 0; i < n_mine; i++)
		if (mine[i] != UINT32_MAX && !is_among(mine, i, mine[i]) &&
		    !is_among(others, n_others, mine[i]))
			term_add(m, CALLEE, mine[i], sign);
}

/* ---- branches ---- */

/* The instruction that decides where block @b goes; NULL: none does, or there are more ways than two. */
static const struct insn *decider(const struct code *code, uint32_t b)
{
	const struct code_block *block = &code->blocks[b];
	const struct insn *last;

	if (code->map->blocks[b].n_edges != 2 ||
	    (code->map->blocks[b].flags & (BLOCK_RETURNS | BLOCK_TAIL_CALLS)) || !block->n_insns)
		return NULL;
	last = &code->insns[block->first_insn + block->n_insns - 1];
	if (last->flow == INSN_JUMPS && block->n_insns > 1)
		last--;
	return last->flow == INSN_BRANCHES ? last : NULL;
}

/* Which edge is gone when the condition holds whose number is even. False: both, or neither. */
static bool edges_tell(const struct block_map *map, const struct insn *insn, uint32_t first,
		       struct branch *ret)
{
	bool to_first = map->blocks[map->edges[first].target].address == insn->target;
	bool to_second = map->blocks[map->edges[first + 1].target].address == insn->target;
	bool is_first = to_first != (bool)(insn->condition & 1);

	if (to_first == to_second)
		return false;
	ret->yes = first + !is_first;
	ret->no = first + is_first;
	return true;
}

static double samples_around(const struct code *code, uint32_t b, const struct branch *branch)
{
	const struct block_edge *edges = code->map->edges;

	return code->blocks[b].samples + code->blocks[edges[branch->yes].target].samples +
	       code->blocks[edges[branch->no].target].samples;
}

/* Room for all terms of one more branch. */
static int terms_reserve(struct model *m)
{
	size_t want = m->n_terms + 2 + 2 * CALLEES;
	struct term *more;

	if (want <= m->capacity)
		return 0;
	want += m->capacity;
	more = reallocarray(m->terms, want, sizeof(*more));
	if (!more)
		return -ENOMEM;
	m->terms = more;
	m->capacity = want;
	return 0;
}

static void branch_add(struct model *m, const struct fit_result *fit, uint32_t b)
{
	const struct block_map *map = m->code->map;
	const struct insn *insn = decider(m->code, b),
			  *insns = m->code->insns + m->code->blocks[b].first_insn;
	struct branch branch = { .first_term = m->n_terms };
	uint32_t yes[CALLEES], no[CALLEES], n_yes, n_no;
	double gone;

	if (!insn || !edges_tell(map, insn, map->blocks[b].first_edge, &branch))
		return;
	term_add(m, NEAR_VALUE, mix(insn->condition >> 1, value_of(insns, (uint32_t)(insn - insns), 1)), 1);
	term_add(m, FAR_VALUE, mix(insn->condition >> 1, value_of(insns, (uint32_t)(insn - insns), FAR)), 1);
	n_yes = side_callees(m, map->edges[branch.yes].target, yes);
	n_no = side_callees(m, map->edges[branch.no].target, no);
	callees_add(m, yes, n_yes, no, n_no, 1);
	callees_add(m, no, n_no, yes, n_yes, -1);
	branch.n_terms = m->n_terms - branch.first_term;
	branch.start = log(fit_static_probability(map, branch.yes) / fit_static_probability(map, branch.no));
	gone = fit->edges[branch.yes] + fit->edges[branch.no];
	if (gone > 0 && isfinite(gone)) { /* counts of loops without an exit may be beyond all numbers */
		branch.weight = fmin(samples_around(m->code, b, &branch), MOST_SAMPLES);
		branch.share = (fit->edges[branch.yes] / gone * branch.weight + 0.25) / (branch.weight + 0.5);
	}
	m->branches[m->n_branches++] = branch;
}

static int branches_find(struct arena *arena, struct model *m, const struct fit_result *fit)
{
	const struct block_map *map = m->code->map;
	uint32_t *predecessors = arena_array(arena, uint32_t, map->n_blocks);

	m->branches = arena_array(arena, struct branch, map->n_blocks);
	if (!predecessors || !m->branches)
		return -ENOMEM;
	for (size_t e = 0; e < map->n_edges; e++)
		predecessors[map->edges[e].target]++;
	m->predecessors = predecessors;
	for (size_t f = 0; f < map->n_functions; f++)
		for (uint32_t i = 0; m->code->warm[f] && fit->fitted[f] && i < map->functions[f].n_blocks;
		     i++) {
			if (terms_reserve(m) < 0)
				return -ENOMEM;
			branch_add(m, fit, map->functions[f].first_block + i);
		}
	return 0;
}

/* ---- numbers ---- */

static int key_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* One number for each key that a branch with samples has. */
static int numbers_make(struct arena *arena, struct model *m)
{
	uint32_t n = 0;

	m->keys = arena_array(arena, uint64_t, m->n_terms);
	m->numbers = arena_array(arena, struct number, m->n_terms);
	if (!m->keys || !m->numbers)
		return -ENOMEM;
	for (uint32_t t = 0; t < m->n_terms; t++)
		if (m->branches[m->terms[t].branch].weight > 0)
			m->keys[n++] = m->terms[t].key;
	if (n)
		qsort(m->keys, n, sizeof(*m->keys), key_compare);
	for (uint32_t k = 0; k < n; k++)
		if (k == 0 || m->keys[k] != m->keys[k - 1])
			m->keys[m->n_numbers++] = m->keys[k];
	for (uint32_t t = 0; t < m->n_terms; t++) {
		const uint64_t *at =
			bsearch(&m->terms[t].key, m->keys, m->n_numbers, sizeof(*m->keys), key_compare);

		m->terms[t].number = at ? (uint32_t)(at - m->keys) : UINT32_MAX;
	}
	return 0;
}

/* What is to be added to the compiler's log-odds. */
static double branch_sum(const struct model *m, const struct branch *branch)
{
	double sum = 0;

	for (uint32_t t = branch->first_term; t < branch->first_term + branch->n_terms; t++)
		if (m->terms[t].number != UINT32_MAX)
			sum += m->terms[t].sign * m->numbers[m->terms[t].number].value;
	return sum;
}

static double branch_probability(const struct model *m, const struct branch *branch)
{
	return 1 / (1 + exp(-(branch->start + branch_sum(m, branch))));
}

static double branch_slope(const struct branch *branch, double probability)
{
	return branch->weight * fmax(probability * (1 - probability), LEAST_SLOPE);
}

/* How the likelihood changes with each number, once and twice. */
static void numbers_gather(struct model *m)
{
	for (uint32_t n = 0; n < m->n_numbers; n++)
		m->numbers[n].pull = m->numbers[n].slope = 0;
	for (uint32_t i = 0; i < m->n_branches; i++) {
		const struct branch *branch = &m->branches[i];
		double p = branch->weight > 0 ? branch_probability(m, branch) : 0;

		for (uint32_t t = branch->first_term;
		     branch->weight > 0 && t < branch->first_term + branch->n_terms; t++) {
			struct number *number = &m->numbers[m->terms[t].number];

			number->kind = m->terms[t].kind;
			number->pull += m->terms[t].sign * branch->weight * (branch->share - p);
			number->slope += branch_slope(branch, p);
		}
	}
}

/* One step of Newton's for all numbers of @kind, each for itself. */
static void numbers_improve(struct model *m, uint32_t kind)
{
	numbers_gather(m);
	for (uint32_t n = 0; n < m->n_numbers; n++) {
		struct number *number = &m->numbers[n];
		double step =
			(number->pull - strength[kind] * number->value) / (number->slope + strength[kind]);

		if (number->kind == kind)
			number->value += fmax(-MOST_STEP, fmin(MOST_STEP, step));
	}
}

/* What the other branches say: a branch's own samples tell of it already, and would count twice. */
static double others_sum(const struct model *m, const struct branch *branch)
{
	double p = branch_probability(m, branch), own = branch->weight * (branch->share - p), sum = 0;

	for (uint32_t t = branch->first_term; t < branch->first_term + branch->n_terms; t++) {
		const struct term *term = &m->terms[t];
		const struct number *number = term->number == UINT32_MAX ? NULL : &m->numbers[term->number];

		if (number)
			sum += term->sign * number->value -
			       own / (number->slope - branch_slope(branch, p) + strength[term->kind]);
	}
	return sum;
}

static int learn(struct arena *arena, struct model *m, const struct fit_result *fit, double *edges)
{
	int r = branches_find(arena, m, fit);

	if (r == 0)
		r = numbers_make(arena, m);
	if (r < 0)
		return r;
	for (unsigned round = 0; round < ROUNDS; round++)
		for (uint32_t kind = 0; kind < KINDS; kind++)
			numbers_improve(m, kind);
	numbers_gather(m);
	for (uint32_t i = 0; i < m->n_branches; i++)
		edges[m->branches[i].yes] = others_sum(m, &m->branches[i]);
	return 0;
}

int branch_prior_learn(struct arena *arena, const struct code *code, const struct fit_result *fit,
		       double **ret)
{
	struct model m = { .code = code };
	double *edges = arena_array(arena, double, code->map->n_edges);
	int r = edges ? learn(arena, &m, fit, edges) : -ENOMEM;

	free(m.terms);
	if (r == 0)
		*ret = edges;
	return r;
}
