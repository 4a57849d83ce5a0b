/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/tune/result.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"

/* Nothing is proven yet; but what goes wrong is taken back at once. */
static bool is_undecided(const struct tune_result *result)
{
	if (result->best || result->is_settled)
		return false;
	for (size_t i = 1; i < result->rounds->n; i++) {
		const struct rounds_member *member = &result->rounds->members[i];

		if (strcmp(member->name, "active") == 0 && member->out[0] && !result->judged[i].is_dropped)
			return false;
	}
	return true;
}

bool result_decide(struct tune_result *result, bool is_generation)
{
	const struct judged *judged = &result->judged[result->best];
	bool undecided = is_undecided(result);

	if (result->best) {
		result->use = TUNE_ONLY_SAID;
		snprintf(result->said, sizeof(result->said),
			 "%s takes %.4f (%.4f .. %.4f) of the shipped program's CPU time",
			 result->rounds->members[result->best].name, judged->ratio.median, judged->ratio.low,
			 judged->ratio.high);
	} else if (undecided && is_generation) {
		result->use = TUNE_UNDECIDED;
		snprintf(result->said, sizeof(result->said),
			 "nothing is proven in %zu rounds, and nothing changes; measure longer (--minutes, "
			 "--rounds)",
			 result->rounds->n_done);
	} else {
		result->use = TUNE_KEPT;
		snprintf(result->said, sizeof(result->said),
			 "as shipped stays: no candidate is better beyond doubt");
	}
	return !undecided;
}

/* The member that is this candidate; n: none is */
static size_t member_of(const struct tune_result *result, size_t candidate)
{
	size_t i = 0;

	while (i < result->rounds->n && result->of_member[i] != candidate)
		i++;
	return i;
}

/* What became of a member; into @room where that takes more than a word */
static const char *state_of(const struct tune_result *result, size_t member, char room[320])
{
	const struct rounds_member *m = &result->rounds->members[member];
	const struct judged *judged = &result->judged[member];

	if (member == 0)
		return result->best == 0 && result->use != TUNE_UNDECIDED ? "stays" : "";
	if (member == result->best)
		return "better beyond doubt: the best";
	if (m->out[0]) {
		snprintf(room, 320, "%s%s", judged->is_dropped ? "" : "OUT: ", m->out);
		return room;
	}
	if (judged->is_better)
		return "better beyond doubt";
	return m->rests ? "behind others" : "not proven to be better";
}

/* Seconds of CPU time, half of the rounds took less */
static double median_cpu_s(const struct rounds *rounds, const struct rounds_member *member)
{
	_clean_(freep) double *values = calloc(rounds->n_done + 1, sizeof(*values));
	struct stats_summary summary;
	size_t n = 0;

	for (size_t i = 0; values && i < rounds->n_done; i++)
		if (!isnan(member->cpu_s[i]))
			values[n++] = member->cpu_s[i];
	return n && stats_summarize(values, n, 1, &summary, NULL) == 0 ? summary.median : NAN;
}

static void ratio_cells(struct table *table, const struct judged *judged, bool is_base)
{
	if (is_base)
		table_cell(table, "1");
	else if (judged->n)
		table_cell(table, "%.4f", judged->ratio.median);
	else
		table_cell(table, "-");
	if (is_base || !judged->n || isinf(judged->ratio.high))
		table_cell(table, "-");
	else
		table_cell(table, "%.4f .. %.4f", judged->ratio.low, judged->ratio.high);
}

int result_table(const struct tune_result *result, FILE *out)
{
	_clean_(table_freep) struct table *table =
		table_new("candidate|what it is|>rounds|>CPU s|>of shipped|>surely within|verdict");

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < result->candidates->n; i++) {
		const struct candidate *candidate = &result->candidates->list[i];
		size_t m = member_of(result, i);
		char room[320];

		table_cell(table, "%s", candidate->kind->name);
		table_cell(table, "%s", candidate->kind->title);
		if (m == result->rounds->n) {
			for (int k = 0; k < 4; k++)
				table_cell(table, "-");
			table_cell(table, "%s", candidate->failed);
			continue;
		}
		table_cell(table, "%zu", m ? result->judged[m].n : result->rounds->n_done);
		table_cell(table, "%.4f", median_cpu_s(result->rounds, &result->rounds->members[m]));
		ratio_cells(table, &result->judged[m], m == 0);
		table_cell(table, "%s", state_of(result, m, room));
	}
	return table_print(table, out);
}

static void ratio_json(struct json *json, const struct judged *judged)
{
	json_object_begin(json, "ratio");
	json_double(json, "median", judged->n ? judged->ratio.median : NAN);
	json_double(json, "low", judged->ratio.low > 0 ? judged->ratio.low : NAN);
	json_double(json, "high", judged->n ? judged->ratio.high : NAN);
	json_object_end(json);
}

static void candidate_json(const struct tune_result *result, size_t i, struct json *json)
{
	const struct candidate *candidate = &result->candidates->list[i];
	size_t m = member_of(result, i);
	char room[320];

	json_object_begin(json, NULL);
	json_string(json, "name", candidate->kind->name);
	json_array_begin(json, "options");
	for (size_t k = 0; candidate->kind->options[k]; k++)
		json_string(json, NULL, candidate->kind->options[k]);
	json_array_end(json);
	if (m == result->rounds->n) {
		json_string(json, "failed", candidate->failed);
	} else {
		const struct rounds_member *member = &result->rounds->members[m];

		json_u64(json, "rounds", m ? result->judged[m].n : result->rounds->n_done);
		json_double(json, "cpu_s", median_cpu_s(result->rounds, member));
		json_u64(json, "max_rss_kib", member->max_rss_kib);
		if (m)
			ratio_json(json, &result->judged[m]);
		json_bool(json, "better", m && result->judged[m].is_better);
		if (member->out[0] && !result->judged[m].is_dropped)
			json_string(json, "failed", member->out);
		else
			json_string(json, "verdict", state_of(result, m, room));
	}
	json_object_end(json);
}

int result_json(const struct tune_result *result, FILE *out)
{
	static const char *const uses[] = { "kept", "activated", "written", "said", "undecided" };
	const struct rounds *rounds = result->rounds;
	struct json json = json_to(out);

	json_object_begin(&json, NULL);
	json_string(&json, "program", result->program);
	json_string(&json, "shipped", result->shipped);
	json_string(&json, "profile", result->profile);
	json_array_begin(&json, "command");
	for (char *const *word = rounds->run.command; *word; word++)
		json_string(&json, NULL, *word);
	json_array_end(&json);
	json_double(&json, "error", result->error);
	json_u64(&json, "rounds", rounds->n_done);
	json_bool(&json, "settled", result->is_settled);
	json_bool(&json, "output_compared", !rounds->is_quiet[0]);
	json_bool(&json, "errors_compared", !rounds->is_quiet[1]);
	json_array_begin(&json, "candidates");
	for (size_t i = 0; i < result->candidates->n; i++)
		candidate_json(result, i, &json);
	json_array_end(&json);
	json_string(&json, "best", result->candidates->list[result->of_member[result->best]].kind->name);
	json_string(&json, "use", uses[result->use]);
	json_string(&json, "text", result->said);
	json_object_end(&json);
	return ferror(out) ? -EIO : 0;
}
