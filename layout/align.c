/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Candidates are made one after the other and measured; the first of equals wins, and the original
 * order is the first of all.
 */

#include "layout/align.h"

#include <errno.h>
#include <string.h>

#include "layout/branch.h"
#include "layout/exact.h"
#include "layout/exttsp.h"
#include "layout/greedy.h"
#include "layout/threeopt.h"

static const char *const method_names[] = { [ALIGN_BEST] = "best",     [ALIGN_ORIGINAL] = "original",
					    [ALIGN_GREEDY] = "greedy", [ALIGN_TSP] = "tsp",
					    [ALIGN_EXTTSP] = "exttsp", [ALIGN_REFINED] = "refined" };

const char *align_method_name(enum align_method method)
{
	return method < ALIGN_METHOD_END ? method_names[method] : "unknown";
}

enum align_method align_method_parse(const char *name)
{
	unsigned i = 0;

	while (i < ALIGN_METHOD_END && strcmp(name, method_names[i]) != 0)
		i++;
	return (enum align_method)i;
}

struct contest {
	struct arena *arena;
	const struct cfg *cfg;
	const struct branch_costs *costs;
	bool by_cost; /* measure: minus the branch cost, otherwise the ext-TSP score */
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
	double score = contest->by_cost ? -order_cost(contest->cfg, contest->costs, contest->try) :
					  exttsp_score(contest->cfg, contest->try, contest->at);

	if (method != ALIGN_ORIGINAL && score <= contest->best_score)
		return;
	memcpy(contest->best, contest->try, contest->cfg->n * sizeof(*contest->best));
	contest->best_score = score;
	contest->winner = method;
}

/* The optimum if the function is small, else a local one near the order in contest->try. */
static int try_improve(const struct contest *contest, enum threeopt_measure measure)
{
	if (exact_improve(contest->cfg, measure, contest->costs, contest->try))
		return 0;
	return threeopt_improve(contest->arena, contest->cfg, measure, contest->costs, contest->try);
}

static int tsp_order(const struct contest *contest)
{
	int r = greedy_order(contest->arena, contest->cfg, contest->costs, contest->try);

	return r < 0 ? r : try_improve(contest, THREEOPT_COST);
}

static int refined_order(const struct contest *contest)
{
	int r = exttsp_order(contest->arena, contest->cfg, contest->try);

	return r < 0 ? r : try_improve(contest, THREEOPT_EXTTSP);
}

static int original_order(const struct contest *contest)
{
	for (uint32_t i = 0; i < contest->cfg->n; i++)
		contest->try[i] = i;
	return 0;
}

static int contest_enter(struct contest *contest, enum align_method method)
{
	int r = method == ALIGN_GREEDY ?
			greedy_order(contest->arena, contest->cfg, contest->costs, contest->try) :
		method == ALIGN_TSP	? tsp_order(contest) :
		method == ALIGN_EXTTSP	? exttsp_order(contest->arena, contest->cfg, contest->try) :
		method == ALIGN_REFINED ? refined_order(contest) :
					  original_order(contest);

	if (r == 0)
		contest_judge(contest, method);
	return r;
}

/* A winner that chain merging did not make is worth refining, too. */
static int winner_refine(struct contest *contest)
{
	int r;

	if (contest->winner != ALIGN_GREEDY && contest->winner != ALIGN_TSP)
		return 0;
	memcpy(contest->try, contest->best, contest->cfg->n * sizeof(*contest->try));
	r = try_improve(contest, THREEOPT_EXTTSP);
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
		.by_cost = options->method == ALIGN_GREEDY || options->method == ALIGN_TSP,
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
