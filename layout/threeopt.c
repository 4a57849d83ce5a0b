/* SPDX-License-Identifier: Apache-2.0 */

/*
 * 1. Joints: pairs (x, y) that gain by y standing directly behind x, with the gain: y falls
 *    through.
 * 2. Queue all blocks. Take one, x, and for each y whose joint with x is worth more than x's
 *    present one, try the exchanges that bring y behind x: two of the three cuts follow, the third
 *    is chosen among those that make another joint or break none.
 * 3. Apply the best exchange that gains, queue the blocks at its cuts and those that would like to
 *    stand before them.
 * 4. When the queue is empty: exchange two short random neighbouring segments, go on with 2, and
 *    take all back if the sum of it lost.
 *
 * Under the ext-TSP measure an exchange also changes distances, but only edges within the reach of
 * a short jump of a cut can tell; these are added up for exchanges that do not lose joints.
 */

#include "layout/threeopt.h"

#include <errno.h>
#include <string.h>

#include "layout/branch.h"
#include "layout/exttsp.h"

#define SCAN_MAX 24u	   /* cuts looked at for one that breaks no joint */
#define KICK_MAX 30u	   /* nodes in a segment of a random exchange */
#define TRIES_MAX 200000.0 /* cost units for one function, see try_exchange() */
#define EPSILON 1e-11	   /* of the sum of all joints: less is rounding */

struct joint {
	uint32_t node;
	double gain;
};

/* Positions of an exchange: [i, j) and [j, k) change places. */
struct exchange {
	uint32_t i, j, k;
	double gain;
};

struct search {
	const struct cfg *cfg;
	bool by_exttsp;
	uint32_t *order, *at;		      /* order[at[node]] == node */
	int64_t *address;		      /* per node */
	struct joint *out, *in;		      /* per node, best first */
	const uint32_t *out_first, *in_first; /* the graph's own */
	uint32_t *queue, queue_head, n_queue;
	bool *queued;
	uint32_t *spare;	  /* n nodes */
	struct exchange *journal; /* since the last kick */
	size_t n_journal;
	double epsilon, budget;
	uint64_t random;
};

#define JOURNAL_MAX 256u

/* --- joints ----------------------------------------------------------------------------------- */

static double joint_gain(const struct search *s, const struct branch_costs *costs,
			 const struct cfg_edge *edge)
{
	double fall = edge->kind == LAYOUT_JUMP ? EXTTSP_FALL_JUMP : EXTTSP_FALL_BRANCH;

	if (s->by_exttsp)
		return edge->count * (fall - EXTTSP_NEAR);
	return branch_saving(s->cfg, costs, edge->from, edge->to);
}

static void joint_insert(struct joint *list, uint32_t n, struct joint joint)
{
	for (; n > 0 && list[n - 1].gain < joint.gain; n--)
		list[n] = list[n - 1];
	list[n] = joint;
}

/* Edges from one node to another of two kinds are one joint. */
static void joints_fill(struct search *s, const struct branch_costs *costs)
{
	const struct cfg *cfg = s->cfg;
	double total = 0;

	for (uint32_t i = 0; i < cfg->n; i++) {
		struct joint *list = s->out + cfg->out[i];
		uint32_t n = 0;

		for (uint32_t e = cfg->out[i]; e < cfg->out[i + 1]; e++) {
			const struct cfg_edge *edge = &cfg->edges[e];
			double gain = edge->falls ? joint_gain(s, costs, edge) : 0;

			if (gain > 0 && edge->to != 0)
				joint_insert(list, n++, (struct joint){ edge->to, gain });
			total += gain;
		}
		for (; n < cfg->out[i + 1] - cfg->out[i]; n++)
			list[n] = (struct joint){ LAYOUT_NONE, 0 };
	}
	s->epsilon = total * EPSILON;
}

static void joints_reverse(struct search *s)
{
	const struct cfg *cfg = s->cfg;

	for (uint32_t e = 0; e < cfg->n_edges; e++)
		s->in[e] = (struct joint){ LAYOUT_NONE, 0 };
	for (uint32_t i = 0; i < cfg->n; i++)
		for (uint32_t e = cfg->out[i]; e < cfg->out[i + 1]; e++) {
			uint32_t to = s->out[e].node, n = 0;

			if (to == LAYOUT_NONE)
				continue;
			while (s->in[cfg->in[to] + n].node != LAYOUT_NONE)
				n++;
			joint_insert(s->in + cfg->in[to], n, (struct joint){ i, s->out[e].gain });
		}
}

static double joint(struct search *s, uint32_t x, uint32_t y)
{
	if (y == LAYOUT_NONE)
		return 0;
	for (uint32_t e = s->out_first[x]; e < s->out_first[x + 1]; e++) {
		s->budget -= 0.1;
		if (s->out[e].node == y)
			return s->out[e].gain;
		if (s->out[e].node == LAYOUT_NONE)
			break;
	}
	return 0;
}

static uint32_t node_at(const struct search *s, uint32_t position)
{
	return position < s->cfg->n ? s->order[position] : LAYOUT_NONE;
}

static double joint_before(struct search *s, uint32_t position)
{
	return joint(s, s->order[position - 1], node_at(s, position));
}

/* --- what an exchange gains ------------------------------------------------------------------- */

static double gain_joints(struct search *s, uint32_t i, uint32_t j, uint32_t k)
{
	double lost = joint_before(s, i) + joint_before(s, j) + joint_before(s, k);

	return joint(s, s->order[i - 1], s->order[j]) + joint(s, s->order[k - 1], s->order[i]) +
	       joint(s, s->order[j - 1], node_at(s, k)) - lost;
}

static int64_t address_at(const struct search *s, uint32_t position)
{
	uint32_t last = s->order[s->cfg->n - 1];

	return position < s->cfg->n ? s->address[s->order[position]] : s->address[last] + s->cfg->size[last];
}

struct shift {
	uint32_t i, j, k;
	int64_t first, second; /* by how much the segments move */
};

/* 1: in the first segment, 2: in the second, 0: elsewhere */
static unsigned segment_of(const struct search *s, const struct shift *shift, uint32_t node)
{
	uint32_t at = s->at[node];

	return at < shift->i || at >= shift->k ? 0 : at < shift->j ? 1 : 2;
}

static double edge_change(const struct search *s, const struct shift *shift, const struct cfg_edge *edge,
			  unsigned from_part, unsigned to_part)
{
	const int64_t moved[] = { 0, shift->first, shift->second };
	int64_t end = s->address[edge->from] + s->cfg->size[edge->from], to = s->address[edge->to];

	return exttsp_edge(edge, end + moved[from_part], to + moved[to_part]) - exttsp_edge(edge, end, to);
}

/*
 * All edges between the node and other parts; those between the two segments from their source
 * only.
 */
static double node_change(const struct search *s, const struct shift *shift, uint32_t node, unsigned part)
{
	const struct cfg *cfg = s->cfg;
	double change = 0;

	for (uint32_t e = cfg->out[node]; e < cfg->out[node + 1]; e++) {
		unsigned to = segment_of(s, shift, cfg->edges[e].to);

		if (to != part)
			change += edge_change(s, shift, &cfg->edges[e], part, to);
	}
	for (uint32_t e = cfg->in[node]; e < cfg->in[node + 1]; e++) {
		const struct cfg_edge *edge = &cfg->edges[cfg->in_edge[e]];

		if (segment_of(s, shift, edge->from) == 0)
			change += edge_change(s, shift, edge, 0, part);
	}
	return change;
}

/* Nodes deeper inside than a short jump reaches cannot tell that their segment moves. */
static double segment_change(struct search *s, const struct shift *shift, uint32_t from, uint32_t to,
			     unsigned part)
{
	int64_t reach = (int64_t)EXTTSP_FORWARD_BYTES, low = address_at(s, from) + reach;
	int64_t high = address_at(s, to) - reach;
	double change = 0;
	uint32_t p;

	for (p = from; p < to && s->address[s->order[p]] <= low; p++)
		change += node_change(s, shift, s->order[p], part);
	s->budget -= p - from;
	for (from = p, p = to; p > from && address_at(s, p) >= high; p--)
		change += node_change(s, shift, s->order[p - 1], part);
	s->budget -= to - p;
	return change;
}

static double gain_exttsp(struct search *s, uint32_t i, uint32_t j, uint32_t k)
{
	int64_t middle = address_at(s, j);
	const struct shift shift = { i, j, k, address_at(s, k) - middle, address_at(s, i) - middle };

	return segment_change(s, &shift, i, j, 1) + segment_change(s, &shift, j, k, 2);
}

static void try_exchange(struct search *s, uint32_t i, uint32_t j, uint32_t k, struct exchange *best)
{
	double gain;

	if (i < 1 || i >= j || j >= k || k > s->cfg->n || s->budget < 0)
		return;
	s->budget--;
	gain = gain_joints(s, i, j, k);
	if (s->by_exttsp && gain >= 0)
		gain = gain_exttsp(s, i, j, k);
	if (gain > best->gain + s->epsilon)
		*best = (struct exchange){ i, j, k, gain };
}

/* --- step 2 ----------------------------------------------------------------------------------- */

/* y stands behind x but not directly: [i, j) between them goes behind some k. */
static void try_forward(struct search *s, uint32_t i, uint32_t j, struct exchange *best)
{
	uint32_t first = s->order[i], last = s->order[j - 1];

	for (uint32_t e = s->in_first[first]; e < s->in_first[first + 1]; e++)
		if (s->in[e].node != LAYOUT_NONE)
			try_exchange(s, i, j, s->at[s->in[e].node] + 1, best);
	for (uint32_t e = s->out_first[last]; e < s->out_first[last + 1]; e++)
		if (s->out[e].node != LAYOUT_NONE)
			try_exchange(s, i, j, s->at[s->out[e].node], best);
	for (uint32_t k = j + 1, n = 0; k < s->cfg->n && n < SCAN_MAX; k++, n++)
		if (joint_before(s, k) == 0)
			try_exchange(s, i, j, k, best);
	try_exchange(s, i, j, s->cfg->n, best);
}

/* y stands before x: x's end [j, k) goes before y's start [i, j), for some j. */
static void try_backward(struct search *s, uint32_t i, uint32_t k, struct exchange *best)
{
	uint32_t before = i > 0 ? s->order[i - 1] : LAYOUT_NONE, behind = node_at(s, k);

	if (before == LAYOUT_NONE)
		return;
	for (uint32_t e = s->out_first[before]; e < s->out_first[before + 1]; e++)
		if (s->out[e].node != LAYOUT_NONE)
			try_exchange(s, i, s->at[s->out[e].node], k, best);
	if (behind != LAYOUT_NONE)
		for (uint32_t e = s->in_first[behind]; e < s->in_first[behind + 1]; e++)
			if (s->in[e].node != LAYOUT_NONE)
				try_exchange(s, i, s->at[s->in[e].node] + 1, k, best);
	for (uint32_t j = i + 1, n = 0; j < k && n < SCAN_MAX; j++, n++)
		if (joint_before(s, j) == 0)
			try_exchange(s, i, j, k, best);
	for (uint32_t j = k - 1, n = 0; j > i && n < SCAN_MAX; j--, n++)
		if (joint_before(s, j) == 0)
			try_exchange(s, i, j, k, best);
}

static struct exchange best_exchange(struct search *s, uint32_t x)
{
	double now = joint(s, x, node_at(s, s->at[x] + 1));
	struct exchange best = { 0 };

	for (uint32_t e = s->out_first[x]; e < s->out_first[x + 1]; e++) {
		uint32_t y = s->out[e].node;

		if (y == LAYOUT_NONE || s->out[e].gain <= now)
			break;
		if (s->at[y] > s->at[x])
			try_forward(s, s->at[x] + 1, s->at[y], &best);
		else
			try_backward(s, s->at[y], s->at[x] + 1, &best);
	}
	return best;
}

/* --- steps 3 and 4 ---------------------------------------------------------------------------- */

static void queue_push(struct search *s, uint32_t node)
{
	if (node == LAYOUT_NONE || s->queued[node])
		return;
	s->queued[node] = true;
	s->queue[(s->queue_head + s->n_queue++) % s->cfg->n] = node;
}

static void queue_cut(struct search *s, uint32_t position)
{
	uint32_t behind = node_at(s, position);

	queue_push(s, s->order[position - 1]);
	if (behind == LAYOUT_NONE)
		return;
	for (uint32_t e = s->in_first[behind]; e < s->in_first[behind + 1]; e++)
		queue_push(s, s->in[e].node);
}

static void exchange_apply(struct search *s, uint32_t i, uint32_t j, uint32_t k)
{
	int64_t address = address_at(s, i);

	memcpy(s->spare, s->order + i, (j - i) * sizeof(*s->order));
	memmove(s->order + i, s->order + j, (k - j) * sizeof(*s->order));
	memcpy(s->order + i + (k - j), s->spare, (j - i) * sizeof(*s->order));
	for (uint32_t p = i; p < k; p++) {
		s->at[s->order[p]] = p;
		s->address[s->order[p]] = address;
		address += s->cfg->size[s->order[p]];
	}
	s->budget -= (k - i) / 8.0;
	queue_cut(s, i);
	queue_cut(s, i + (k - j));
	queue_cut(s, k);
}

/* Returns what was gained; the journal is full at JOURNAL_MAX. */
static double search_run(struct search *s)
{
	double gained = 0;

	while (s->n_queue > 0 && s->budget >= 0) {
		uint32_t x = s->queue[s->queue_head];
		struct exchange best;

		s->queue_head = (s->queue_head + 1) % s->cfg->n;
		s->n_queue--;
		s->queued[x] = false;
		best = best_exchange(s, x);
		if (!(best.gain > 0))
			continue;
		if (s->journal && s->n_journal == JOURNAL_MAX)
			break;
		exchange_apply(s, best.i, best.j, best.k);
		queue_push(s, x);
		gained += best.gain;
		if (s->journal)
			s->journal[s->n_journal++] = best;
	}
	return gained;
}

static uint32_t search_random(struct search *s, uint32_t n)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull; /* Knuth's MMIX */
	return (uint32_t)((s->random >> 32) * n >> 32);
}

static void journal_undo(struct search *s)
{
	while (s->n_journal > 0) {
		struct exchange e = s->journal[--s->n_journal];

		exchange_apply(s, e.i, e.i + (e.k - e.j), e.k);
	}
	for (; s->n_queue > 0; s->n_queue--) {
		s->queued[s->queue[s->queue_head]] = false;
		s->queue_head = (s->queue_head + 1) % s->cfg->n;
	}
}

static void search_kick(struct search *s)
{
	uint32_t n = s->cfg->n, i = 1 + search_random(s, n - 2);
	uint32_t j = i + 1 + search_random(s, MIN(KICK_MAX, n - 1 - i));
	uint32_t k = j + 1 + search_random(s, MIN(KICK_MAX, n - j));
	double gain = s->by_exttsp ? gain_exttsp(s, i, j, k) : gain_joints(s, i, j, k);

	s->n_journal = 0;
	exchange_apply(s, i, j, k);
	s->journal[s->n_journal++] = (struct exchange){ i, j, k, gain };
	if (gain + search_run(s) < 0)
		journal_undo(s);
}

static int search_init(struct search *s, struct arena *arena, const struct branch_costs *costs)
{
	const struct cfg *cfg = s->cfg;
	int64_t end = 0;

	s->at = arena_array(arena, uint32_t, cfg->n);
	s->address = arena_array(arena, int64_t, cfg->n);
	s->out = arena_array(arena, struct joint, cfg->n_edges);
	s->in = arena_array(arena, struct joint, cfg->n_edges);
	s->out_first = cfg->out;
	s->in_first = cfg->in;
	s->queue = arena_array(arena, uint32_t, cfg->n);
	s->queued = arena_array(arena, bool, cfg->n);
	s->spare = arena_array(arena, uint32_t, cfg->n);
	if (!s->at || !s->address || !s->out || !s->in || !s->queue || !s->queued || !s->spare)
		return -ENOMEM;
	joints_fill(s, costs);
	joints_reverse(s);
	for (uint32_t p = 0; p < cfg->n; p++) {
		s->at[s->order[p]] = p;
		s->address[s->order[p]] = end;
		end += cfg->size[s->order[p]];
	}
	return 0;
}

int threeopt_improve(struct arena *arena, const struct cfg *cfg, enum threeopt_measure measure,
		     const struct branch_costs *costs, uint32_t *order)
{
	struct search s = { .cfg = cfg,
			    .order = order,
			    .by_exttsp = measure == THREEOPT_EXTTSP,
			    .budget = TRIES_MAX,
			    .random = cfg->n };
	struct exchange *journal = arena_array(arena, struct exchange, JOURNAL_MAX);
	uint32_t kicks = measure == THREEOPT_COST ? cfg->n * 4 : cfg->n;

	if (cfg->n < 3)
		return 0;
	if (!journal || search_init(&s, arena, costs) < 0)
		return -ENOMEM;
	for (uint32_t p = 0; p < cfg->n; p++)
		queue_push(&s, order[p]);
	search_run(&s);
	s.journal = journal;
	while (kicks-- > 0 && s.budget >= 0)
		search_kick(&s);
	return 0;
}
