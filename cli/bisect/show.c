/* SPDX-License-Identifier: Apache-2.0 */

/* What a bisection has found: for people, for programs, for morphd. */

#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/bisect/bisect.h"
#include "cli/shared/demangle.h"

static const char *verb_of(const struct bisect *b)
{
	return b->judge.by_time ? "slower" : "failing";
}

static void set_print(const struct bisect *b, const struct bisect_set *set, FILE *out)
{
	fprintf(out,
		set->n == 1 ? "%s with this function alone compiled anew:\n" :
			      "%s only with these functions together compiled anew:\n",
		verb_of(b));
	for (size_t i = 0; i < b->subject.n_functions; i++) {
		const struct subject_function *f = &b->subject.functions[i];

		if (!set->functions[i])
			continue;
		fputs("  ", out);
		text_print(out, demangled(f->name));
		fprintf(out, "  (%.0f samples)%s\n", f->samples,
			set->n > 1 && i == set->kept ? ", whose shipped code is a remedy" : "");
	}
}

static void passes_print(const struct bisect *b, FILE *out)
{
	size_t n = 0;

	if (!b->passes_known) {
		fputs("optimizations: not known; without some of them the command cannot tell\n", out);
		return;
	}
	for (size_t i = 0; i < b->subject.passes.n; i++) {
		if (!b->passes[i])
			continue;
		fprintf(out, "%s%s", n++ ? ", " : "by the optimization: ",
			strcmp(b->subject.passes.names[i], PASSES_CPU) == 0 ? "instructions of this CPU" :
									      b->subject.passes.names[i]);
	}
	fputs(n ? "\n" : "by none of the optional optimizations: new code, or another place, is enough\n",
	      out);
}

static void remedy_print(const struct bisect *b, FILE *out)
{
	if (b->is_all) {
		fputs("without these nothing is left to be compiled anew; `morph pin` leaves the program "
		      "alone\n",
		      out);
		return;
	}
	if (!b->is_cured) {
		fprintf(out,
			"with all of these as shipped it is still %s: more than functions' code is to blame; "
			"`morph pin` leaves the program alone\n",
			verb_of(b));
		return;
	}
	fputs("good with the shipped code of", out);
	for (size_t i = 0; i < b->n_found; i++) {
		fputs(i ? ", " : " ", out);
		text_print(out, demangled(b->subject.functions[b->found[i].kept].name));
	}
	fputs(b->is_kept ? "; so it is from now on\n" : "\n", out);
}

void bisect_print(const struct bisect *b, FILE *out)
{
	text_print(out, b->subject.path);
	if (b->subject.generation > 0)
		fprintf(out, ", generation %lld", (long long)b->subject.generation);
	fprintf(out, ", of shipped build %s\n", b->subject.build_id);
	if (b->judge.by_time)
		fprintf(out, "takes %.3f (%.3f .. %.3f) times the shipped file's time\n",
			b->judge.slower.median, b->judge.slower.low, b->judge.slower.high);
	else
		fprintf(out, "the command fails %u of %u times (%s); with the shipped file %u of %u times\n",
			b->judge.failed, b->judge.ran, b->judge.how, b->judge.shipped_failed,
			b->judge.shipped_ran);
	for (size_t i = 0; i < b->n_found; i++)
		set_print(b, &b->found[i], out);
	passes_print(b, out);
	remedy_print(b, out);
	if (b->n_unmade)
		fprintf(out, "%zu variants could not be made, and count as good: %s\n", b->n_unmade,
			b->subject.unmade);
	if (b->n_unknown)
		fprintf(out,
			"of %zu variants the command could not tell (exit status %d); they count as good\n",
			b->n_unknown, TRIAL_SKIP);
}

static void judge_json(const struct bisect *b, struct json *json)
{
	json_string(json, "mode", b->judge.by_time ? "slower" : "fails");
	if (b->judge.by_time) {
		json_object_begin(json, "ratio");
		json_double(json, "median", b->judge.slower.median);
		json_double(json, "low", b->judge.slower.low);
		json_double(json, "high", b->judge.slower.high);
		json_object_end(json);
		json_double(json, "threshold", b->judge.threshold);
		return;
	}
	json_u64(json, "shipped_runs", b->judge.shipped_ran);
	json_u64(json, "shipped_failed", b->judge.shipped_failed);
	json_u64(json, "generation_runs", b->judge.ran);
	json_u64(json, "generation_failed", b->judge.failed);
	json_string(json, "how", b->judge.how);
	json_u64(json, "runs_each", b->judge.needed);
}

static void set_json(const struct bisect *b, const struct bisect_set *set, struct json *json)
{
	json_array_begin(json, NULL);
	for (size_t i = 0; i < b->subject.n_functions; i++) {
		const struct subject_function *f = &b->subject.functions[i];
		char hash[17];

		if (!set->functions[i])
			continue;
		snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)f->cfg_hash);
		json_object_begin(json, NULL);
		json_string(json, "name", f->name);
		demangled_json(json, f->name);
		json_string(json, "cfg_hash", hash);
		json_double(json, "samples", f->samples);
		json_bool(json, "keep_as_shipped", i == set->kept);
		json_object_end(json);
	}
	json_array_end(json);
}

void bisect_json(const struct bisect *b)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_string(&json, "path", b->subject.path);
	json_string(&json, "build_id", b->subject.build_id);
	if (b->subject.generation > 0)
		json_i64(&json, "generation", b->subject.generation);
	judge_json(b, &json);
	json_u64(&json, "functions", b->subject.n_functions);
	json_array_begin(&json, "sets");
	for (size_t i = 0; i < b->n_found; i++)
		set_json(b, &b->found[i], &json);
	json_array_end(&json);
	json_bool(&json, "passes_known", b->passes_known);
	json_array_begin(&json, "passes");
	for (size_t i = 0; i < b->subject.passes.n; i++)
		if (b->passes[i])
			json_string(&json, NULL, b->subject.passes.names[i]);
	json_array_end(&json);
	json_bool(&json, "good_with_these_as_shipped", b->is_cured);
	json_bool(&json, "nothing_left_to_optimize", b->is_all);
	json_bool(&json, "kept", b->is_kept);
	json_u64(&json, "edits", b->subject.n_edits);
	json_u64(&json, "unmade", b->n_unmade);
	json_u64(&json, "unknown", b->n_unknown);
	json_string(&json, "report", b->report);
	json_object_end(&json);
}

int bisect_keep(struct bisect *b, struct fault *reterr)
{
	for (size_t i = 0; i < b->n_found; i++) {
		const struct subject_function *f = &b->subject.functions[b->found[i].kept];
		struct daemon_part part = { b->subject.path, "function", f->name, f->cfg_hash };
		int r = daemon_pin_part(
			&b->daemon, &part,
			b->judge.by_time ? "slower, by morph bisect" : "fails, by morph bisect", reterr);

		if (r < 0)
			return r;
	}
	b->is_kept = true;
	return 0;
}
