/* SPDX-License-Identifier: Apache-2.0 */

/*
 * State reduction. Removing state k from the chain leaves the visits of all others as they are when every way
 * i -> k -> j becomes a way i -> j:
 *
 *	p[i][j] += p[i][k] * p[k][j] / (1 - p[k][k])
 *
 * and 1 - p[k][k] is the sum of what leads elsewhere, so nothing is ever subtracted. State 0 goes last.
 * Which ways meet does not depend on the probabilities: it is worked out once (markov_new()) as a list of
 * steps, each with its ways in, its ways out and the slot that each pair adds to.
 */

#include "profiles/fit/markov.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/macro.h"

#define NONE UINT32_MAX
#define LEAST_WAY_OUT 1e-12 /* a loop without exit turns this often and no more */

/* A way between two states; its probability stands in slots[slot]. Slot k is the self-loop of state k. */
struct way {
	uint32_t state, slot;
};

struct step {
	uint32_t state;
	uint32_t first_in, n_in; /* in ways[] */
	uint32_t first_out, n_out;
	uint32_t first_target; /* in targets[]: n_in * n_out slots */
};

struct markov {
	uint32_t n_states, n_edges, n_slots, n_steps;
	size_t work;
	uint32_t *edge_slots;
	struct step *steps; /* in the order of reduction; state 0 is none of them */
	struct way *ways;
	uint32_t *targets;
	double *slots, *exits, *inverses; /* of the last solution; inverses[k]: 1 / (1 - p[k][k]) */
	double *scratch;
};

/* Ways of one state while the pattern is worked out; heap memory that grows. */
struct way_list {
	struct way *ways;
	uint32_t n, capacity;
};

struct pattern {
	uint32_t n_states, n_slots;
	struct way_list *out, *in;
	bool *gone;
	uint32_t *slot_to; /* scratch, per state: slot of the way there from the state at hand, or NONE */
	uint32_t *targets; /* heap, grows */
	size_t n_targets, targets_capacity;
	struct way *ways;
	size_t n_ways, ways_capacity;
	size_t max_work;
};

static int grow(void **array, size_t need, size_t *capacity, size_t size)
{
	size_t want = MAX(need, *capacity * 2 + 16);
	void *more;

	if (need <= *capacity)
		return 0;
	more = reallocarray(*array, want, size);
	if (!more)
		return -ENOMEM;
	*array = more;
	*capacity = want;
	return 0;
}

static int way_add(struct way_list *list, uint32_t state, uint32_t slot)
{
	size_t capacity = list->capacity;
	int r = grow((void **)&list->ways, (size_t)list->n + 1, &capacity, sizeof(*list->ways));

	if (r < 0)
		return r;
	list->capacity = (uint32_t)capacity;
	list->ways[list->n++] = (struct way){ state, slot };
	return 0;
}

static void gone_drop(const struct pattern *p, struct way_list *list)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < list->n; i++)
		if (!p->gone[list->ways[i].state])
			list->ways[n++] = list->ways[i];
	list->n = n;
}

/* The slot of the way @from -> @to, while slot_to[] holds the ways out of @from; made when new. */
static int slot_find(struct pattern *p, uint32_t from, uint32_t to, uint32_t *ret)
{
	int r;

	if (from == to) {
		*ret = from;
		return 0;
	}
	if (p->slot_to[to] == NONE) {
		p->slot_to[to] = p->n_slots;
		r = way_add(&p->out[from], to, p->n_slots);
		if (r == 0)
			r = way_add(&p->in[to], from, p->n_slots);
		if (r < 0)
			return r;
		p->n_slots++;
	}
	*ret = p->slot_to[to];
	return 0;
}

static void slot_to_set(struct pattern *p, uint32_t from, bool set)
{
	for (uint32_t i = 0; i < p->out[from].n; i++)
		p->slot_to[p->out[from].ways[i].state] = set ? p->out[from].ways[i].slot : NONE;
}

/* The ways from @from over the state of @step. */
static int ways_join(struct pattern *p, const struct step *step, uint32_t from)
{
	int r = 0;

	slot_to_set(p, from, true);
	for (uint32_t j = 0; r == 0 && j < step->n_out; j++) {
		uint32_t to = p->ways[step->first_out + j].state;

		r = slot_find(p, from, to, &p->targets[p->n_targets]);
		p->n_targets += r == 0;
	}
	slot_to_set(p, from, false);
	return r;
}

static int ways_copy(struct pattern *p, const struct way_list *list)
{
	int r = grow((void **)&p->ways, p->n_ways + list->n, &p->ways_capacity, sizeof(*p->ways));

	if (r == 0 && list->n)
		memcpy(p->ways + p->n_ways, list->ways, list->n * sizeof(*list->ways));
	if (r == 0)
		p->n_ways += list->n;
	return r;
}

static int reduce(struct pattern *p, uint32_t state, struct step *ret)
{
	struct way_list *in = &p->in[state], *out = &p->out[state];
	size_t pairs = (size_t)in->n * out->n;
	int r;

	if (p->n_targets + pairs > p->max_work || p->n_ways + in->n + out->n > p->max_work)
		return -E2BIG;
	p->gone[state] = true;
	*ret = (struct step){ .state = state,
			      .n_in = in->n,
			      .n_out = out->n,
			      .first_in = (uint32_t)p->n_ways,
			      .first_target = (uint32_t)p->n_targets };
	ret->first_out = ret->first_in + in->n;
	r = ways_copy(p, in);
	if (r == 0)
		r = ways_copy(p, out);
	if (r == 0)
		r = grow((void **)&p->targets, p->n_targets + pairs, &p->targets_capacity,
			 sizeof(*p->targets));
	for (uint32_t i = 0; r == 0 && i < in->n; i++)
		r = ways_join(p, ret, in->ways[i].state);
	return r;
}

/* Cheap states first: pass after pass, each allowing twice the work. */
static int reduce_all(struct pattern *p, struct step *steps, uint32_t *retn)
{
	uint32_t left = p->n_states - 1, n = 0;
	int r = 0;

	for (size_t allowed = 1; left > 0 && r == 0;) {
		uint32_t before = left;

		for (uint32_t k = 1; k < p->n_states && r == 0; k++) {
			if (p->gone[k])
				continue;
			gone_drop(p, &p->in[k]);
			gone_drop(p, &p->out[k]);
			if ((size_t)p->in[k].n * p->out[k].n > allowed)
				continue;
			r = reduce(p, k, &steps[n++]);
			left--;
		}
		if (left == before)
			allowed *= 2;
	}
	*retn = n;
	return r;
}

static int pattern_init(struct pattern *p, struct arena *arena, const struct markov_edge *edges,
			uint32_t n_edges, uint32_t *edge_slots)
{
	p->out = arena_array(arena, struct way_list, p->n_states);
	p->in = arena_array(arena, struct way_list, p->n_states);
	p->gone = arena_array(arena, bool, p->n_states);
	p->slot_to = arena_array(arena, uint32_t, p->n_states);
	if (!p->out || !p->in || !p->gone || !p->slot_to)
		return -ENOMEM;
	memset(p->slot_to, 0xff, p->n_states * sizeof(*p->slot_to));
	p->n_slots = p->n_states;
	for (uint32_t e = 0; e < n_edges; e++) {
		int r;

		if (edges[e].from >= p->n_states || edges[e].to >= p->n_states || edges[e].to == 0)
			return -EINVAL;
		slot_to_set(p, edges[e].from, true);
		r = slot_find(p, edges[e].from, edges[e].to, &edge_slots[e]);
		slot_to_set(p, edges[e].from, false);
		if (r < 0)
			return r;
	}
	return 0;
}

static void pattern_done(struct pattern *p)
{
	for (uint32_t k = 0; p->in && p->out && k < p->n_states; k++) {
		free(p->in[k].ways);
		free(p->out[k].ways);
	}
	free(p->targets);
	free(p->ways);
}

static int pattern_keep(const struct pattern *p, struct arena *arena, struct markov *m)
{
	m->n_slots = p->n_slots;
	m->work = p->n_targets;
	m->ways = arena_array(arena, struct way, p->n_ways);
	m->targets = arena_array(arena, uint32_t, p->n_targets);
	m->slots = arena_array(arena, double, p->n_slots);
	m->exits = arena_array(arena, double, p->n_states);
	m->inverses = arena_array(arena, double, p->n_states);
	m->scratch = arena_array(arena, double, p->n_states);
	if (!m->ways || !m->targets || !m->slots || !m->exits || !m->inverses || !m->scratch)
		return -ENOMEM;
	if (p->n_ways)
		memcpy(m->ways, p->ways, p->n_ways * sizeof(*p->ways));
	if (p->n_targets)
		memcpy(m->targets, p->targets, p->n_targets * sizeof(*p->targets));
	return 0;
}

int markov_new(struct arena *arena, uint32_t n_states, const struct markov_edge *edges, uint32_t n_edges,
	       size_t max_work, struct markov **ret)
{
	struct pattern p = { .n_states = n_states, .max_work = MIN(max_work, UINT32_MAX / 2) };
	struct markov *m = arena_alloc(arena, 1, sizeof(*m));
	int r;

	if (n_states == 0 || n_states >= NONE / 4 || n_edges >= NONE / 4)
		return -EINVAL;
	if (!m)
		return -ENOMEM;
	m->n_states = n_states;
	m->n_edges = n_edges;
	m->edge_slots = arena_array(arena, uint32_t, n_edges);
	m->steps = arena_array(arena, struct step, n_states);
	r = m->edge_slots && m->steps ? pattern_init(&p, arena, edges, n_edges, m->edge_slots) : -ENOMEM;
	if (r == 0)
		r = reduce_all(&p, m->steps, &m->n_steps);
	if (r == 0)
		r = pattern_keep(&p, arena, m);
	pattern_done(&p);
	if (r == 0)
		*ret = m;
	return r;
}

size_t markov_work(const struct markov *markov)
{
	return markov->work;
}

static void step_run(struct markov *m, const struct step *step)
{
	const struct way *in = m->ways + step->first_in, *out = m->ways + step->first_out;
	const uint32_t *target = m->targets + step->first_target;
	double elsewhere = m->exits[step->state], inverse;

	for (uint32_t j = 0; j < step->n_out; j++)
		elsewhere += m->slots[out[j].slot];
	inverse = 1 / MAX(elsewhere, LEAST_WAY_OUT);
	m->inverses[step->state] = inverse;
	for (uint32_t i = 0; i < step->n_in; i++) {
		double through = m->slots[in[i].slot] * inverse;

		for (uint32_t j = 0; j < step->n_out; j++)
			m->slots[*target++] += through * m->slots[out[j].slot];
		m->exits[in[i].state] += through * m->exits[step->state];
	}
}

void markov_solve(struct markov *m, const double *probabilities, const double *exits, double *retfrequencies)
{
	memset(m->slots, 0, m->n_slots * sizeof(*m->slots));
	memcpy(m->exits, exits, m->n_states * sizeof(*m->exits));
	for (uint32_t e = 0; e < m->n_edges; e++)
		m->slots[m->edge_slots[e]] += probabilities[e];
	for (uint32_t s = 0; s < m->n_steps; s++)
		step_run(m, &m->steps[s]);
	retfrequencies[0] = 1;
	for (uint32_t s = m->n_steps; s-- > 0;) {
		const struct step *step = &m->steps[s];
		double visits = 0;

		for (uint32_t i = 0; i < step->n_in; i++)
			visits += retfrequencies[m->ways[step->first_in + i].state] *
				  m->slots[m->ways[step->first_in + i].slot];
		retfrequencies[step->state] = visits * m->inverses[step->state];
	}
}

void markov_adjoint(const struct markov *m, const double *gains, double *retvalues)
{
	double *sums = m->scratch;

	memcpy(sums, gains, m->n_states * sizeof(*sums));
	for (uint32_t s = 0; s < m->n_steps; s++) {
		const struct step *step = &m->steps[s];
		double value = sums[step->state] * m->inverses[step->state];

		for (uint32_t i = 0; i < step->n_in; i++)
			sums[m->ways[step->first_in + i].state] +=
				m->slots[m->ways[step->first_in + i].slot] * value;
	}
	retvalues[0] = sums[0];
	for (uint32_t s = m->n_steps; s-- > 0;) {
		const struct step *step = &m->steps[s];
		double value = sums[step->state];

		for (uint32_t j = 0; j < step->n_out; j++)
			value += m->slots[m->ways[step->first_out + j].slot] *
				 retvalues[m->ways[step->first_out + j].state];
		retvalues[step->state] = value * m->inverses[step->state];
	}
}
