/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Candidates are made one after the other and measured; the first of equals wins, and the original
 * order is the first of all.
 */

#include "layout/align.h"

#include <errno.h>
#include <string.h>

#include "layout/branch.h"
#include "layout/exttsp.h"
#include "layout/improve.h"

#define DECLARATION(METHOD, name, measure) align_fn align_##name;
#define ROW(METHOD, name, measure) [ALIGN_##METHOD] = { #name, align_##name, THREEOPT_##measure },

ALIGN_METHODS(DECLARATION)

static const struct {
	const char *name;
	align_fn *order;
	enum threeopt_measure measure;
} methods[] = { [ALIGN_BEST] = { "best", NULL, THREEOPT_EXTTSP }, ALIGN_METHODS(ROW) };

const char *align_method_name(enum align_method method)
{
	return method < ALIGN_METHOD_END ? methods[method].name : "unknown";
}

int align_original(struct arena *arena _unused_, const struct cfg *cfg,
		   const struct branch_costs *costs _unused_, uint32_t *retorder)
{
	for (uint32_t i = 0; i < cfg->n; i++)
		retorder[i] = i;
	return 0;
}

struct contest {
	struct arena *arena;
	const struct cfg *cfg;
	const struct branch_costs *costs;
	enum threeopt_measure measure;
	uint32_t *try, *best;
	double best_score;
	enum align_method winner;
	int64_t *at;
};

static double order_cost(const struct cfg *cfg, const struct branch_costs *costs, const uint32_t *order)
{
	double cost = 0;

	for (uint32_t i = 0; i < cfg->n; i++)
		cost += branch_outcome(cfg, costs, order[i], i + 1 < cfg->n ? order[i + 1] : LAYOUT_NONE)
				.cost;
	return cost;
}

static void contest_judge(struct contest *contest, enum align_method method)
{
	double score = contest->measure == THREEOPT_COST ?
			       -order_cost(contest->cfg, contest->costs, contest->try) :
			       exttsp_score(contest->cfg, contest->try, contest->at);

	if (method != ALIGN_ORIGINAL && score <= contest->best_score)
		return;
	memcpy(contest->best, contest->try, contest->cfg->n * sizeof(*contest->best));
	contest->best_score = score;
	contest->winner = method;
}

static int contest_enter(struct contest *contest, enum align_method method)
{
	int r = methods[method].order(contest->arena, contest->cfg, contest->costs, contest->try);

	if (r == 0)
		contest_judge(contest, method);
	return r;
}

/* A winner by another measure is worth refining, too. */
static int winner_refine(struct contest *contest)
{
	int r;

	if (methods[contest->winner].measure != THREEOPT_COST)
		return 0;
	memcpy(contest->try, contest->best, contest->cfg->n * sizeof(*contest->try));
	r = improve_order(contest->arena, contest->cfg, THREEOPT_EXTTSP, contest->costs, contest->try);
	if (r == 0)
		contest_judge(contest, ALIGN_REFINED);
	return r;
}

static int contest_run(struct contest *contest, enum align_method wanted)
{
	int r = contest_enter(contest, ALIGN_ORIGINAL);

	if (wanted != ALIGN_BEST)
		return r < 0 || wanted == ALIGN_ORIGINAL ? r : contest_enter(contest, wanted);
	for (unsigned method = ALIGN_ORIGINAL + 1; method < ALIGN_REFINED && r == 0; method++)
		r = contest_enter(contest, method);
	if (r == 0)
		r = winner_refine(contest);
	return r < 0 ? r : contest_enter(contest, ALIGN_REFINED);
}

int align_order(struct arena *arena, const struct layout_graph *graph, const struct align_options *options,
		uint32_t *retorder, enum align_method *retmethod, struct fault *reterr)
{
	const struct align_options defaults = { 0 };
	struct cfg cfg;
	struct contest contest;
	int r = cfg_init(&cfg, arena, graph, reterr);

	if (r < 0)
		return r;
	options = options ? options : &defaults;
	contest = (struct contest){
		.arena = arena,
		.cfg = &cfg,
		.costs = options->costs ? options->costs : &branch_costs_default,
		.measure = methods[options->method].measure,
		.try = arena_array(arena, uint32_t, cfg.n),
		.best = arena_array(arena, uint32_t, cfg.n),
		.at = arena_array(arena, int64_t, cfg.n),
	};
	if (!contest.try || !contest.best || !contest.at)
		return fault_set(reterr, -ENOMEM, "layout: out of memory");
	if (cfg.n > 1)
		r = contest_run(&contest, options->method);
	else
		r = contest_enter(&contest, ALIGN_ORIGINAL);
	if (r < 0)
		return fault_errno(reterr, r, "layout: cannot order %zu blocks", graph->n_blocks);
	cfg_expand(&cfg, contest.best, retorder);
	if (retmethod)
		*retmethod = contest.winner;
	return 0;
}
