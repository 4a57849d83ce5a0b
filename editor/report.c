/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/config.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "editor/steps/counted.h"

static void times_json(struct json *json, const struct edit_report *r)
{
	double steps[EDIT_STEPS] = { 0 };
	struct edit_pass pass;

	json_object_begin(json, "pass_cpu_seconds");
	for (size_t i = 0; edit_pass_at(i, &pass); i++) {
		if (!(r->passes_run >> i & 1))
			continue;
		steps[pass.step] += r->cpu_s[i];
		json_double(json, pass.name, r->cpu_s[i]);
	}
	json_object_end(json);
	json_object_begin(json, "cpu_seconds");
	for (size_t i = 0; i < EDIT_STEPS; i++)
		json_double(json, edit_step_name(i), steps[i]);
	json_object_end(json);
}

static void hash_json(struct json *json, const char *key, uint64_t hash)
{
	char text[17];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)hash);
	json_string(json, key, hash ? text : NULL);
}

/* What was asked to be left as it is: with it the edit can be repeated. */
static void exceptions_json(struct json *json, const struct edit_options *options,
			    const struct edit_report *r)
{
	struct edit_pass pass;

	json_array_begin(json, "as_shipped");
	for (size_t i = 0; i < options->n_as_shipped; i++) {
		const struct edit_kept *asked = &options->as_shipped[i];

		json_object_begin(json, NULL);
		json_string(json, "name", asked->name);
		json_bool(json, "kept", r->kept[i].state == KEPT);
		hash_json(json, "cfg_hash", r->kept[i].cfg_hash);
		hash_json(json, "only_cfg_hash", asked->cfg_hash);
		json_bool(json, "may_lack", asked->may_lack);
		json_object_end(json);
	}
	json_array_end(json);
	json_array_begin(json, "without");
	for (size_t i = 0; edit_pass_at(i, &pass); i++)
		if (options->passes_off >> i & 1)
			json_string(json, NULL, pass.name);
	json_array_end(json);
}

static void report_json(struct json *json, const struct image *program, const struct profile *profile,
			const uint8_t profile_sha256[SHA256_BYTES], const struct edit_options *options,
			const struct edit_report *r, const struct sandbox_report *walls)
{
	char id[BUILD_ID_MAX_TEXT], sha256[SHA256_TEXT];

	json_object_begin(json, NULL);
	json_string(json, "program", image_path(program));
	json_string(json, "build_id", build_id_text(image_build_id(program), id));
	json_string(json, "generation_build_id", build_id_text(&r->build_id, id));
	json_string(json, "morph", MORPH_VERSION);
	json_string(json, "llvm", r->llvm);
	json_string(json, "cpu", r->cpu[0] ? r->cpu : NULL);
	json_string(json, "tuned_for", r->tune[0] ? r->tune : NULL);
	json_bool(json, "layout_only", options->layout_only);
	json_double(json, "copies", options->limits_copies ? options->copies : NAN);
	json_bool(json, "unroll", !options->no_unroll);
	json_double(json, "vector_bits", options->limits_vectors ? (double)options->vector_bits : NAN);
	json_string(json, "profile_sha256", sha256_text(profile_sha256, sha256));
	json_double(json, "samples", profile->samples);
	json_u64(json, "functions", r->trust.n_functions);
	json_u64(json, "functions_regenerated", r->trust.n_same_blocks);
	json_u64(json, "functions_identical", r->trust.n_same_bytes);
	json_string(json, "fallback", r->fallback.text[0] ? r->fallback.text : NULL);
	json_string(json, "rebased", r->difference.text[0] ? r->difference.text : NULL);
	json_u64(json, "modules", r->n_modules);
	json_u64(json, "hot_modules", r->n_hot_modules);
	json_u64(json, "kept_objects", r->n_kept_objects);
	json_u64(json, "hot_functions", r->counts.n_hot_functions);
	json_u64(json, "blocks", r->n_blocks);
	json_u64(json, "hot_blocks", r->counts.n_hot_blocks);
	json_u64(json, "calls", r->inlining.n_calls);
	json_u64(json, "calls_inlined", r->inlining.n_chosen);
	json_u64(json, "instructions_copied", r->inlining.growth);
	json_double(json, "instructions_copied_at_most", r->inlining.room);
	json_u64(json, "indirect_calls", r->indirect.n_calls);
	json_u64(json, "indirect_calls_promoted", r->indirect.n_targets);
	if (r->indirect.executed > 0)
		json_double(json, "indirect_calls_direct_share", r->indirect.direct / r->indirect.executed);
	json_u64(json, "imports_called_straight", r->n_imports);
	json_u64(json, "jumps_to_aligned_loops", r->n_loops);
	json_bool(json, "dispatch_shared", r->way & WAY_SHARED_DISPATCH);
	json_bool(json, "strength_reduced", !(r->way & WAY_NO_STRENGTH_REDUCTION));
	json_u64(json, "functions_laid_out", r->n_laid_out);
	json_u64(json, "blocks_out_of_line", r->n_cold_blocks);
	json_double(json, "layout_score_before", r->score_before);
	json_double(json, "layout_score_after", r->score_after);
	if (r->before.instructions > 0) {
		json_double(json, "predicted_gain", prediction_gain(&r->before, &r->after));
		json_double(json, "predicted_instructions_before", r->before.instructions);
		json_double(json, "predicted_instructions_after", r->after.instructions);
		json_double(json, "predicted_taken_before", r->before.taken);
		json_double(json, "predicted_taken_after", r->after.taken);
	}
	json_u64(json, "functions_as_shipped", r->n_as_shipped);
	exceptions_json(json, options, r);
	json_u64(json, "functions_proved", r->n_proven);
	json_u64(json, "functions_unproved", r->n_unproven);
	json_array_begin(json, "unproved");
	for (size_t i = 0; i < MIN(r->n_unproven, EDIT_NAMED_MAX); i++)
		json_string(json, NULL, r->unproven[i]);
	json_array_end(json);
	json_bool(json, "shipped_code_from_memo", r->recalls_code);
	json_u64(json, "modules_proved_from_memo", r->n_proofs_recalled);
	json_u64(json, "cold_halves_from_memo", r->n_halves_recalled);
	json_u64(json, "text_bytes_before", r->text_before);
	json_u64(json, "text_bytes_after", r->text_after);
	json_u64(json, "peak_bytes", r->peak_bytes);
	json_string(json, "selftest", !r->selftest[0] ? NULL : r->selftest_ran ? "passed" : "not run");
	times_json(json, r);
	json_object_begin(json, "sandbox");
	json_bool(json, "own_user", walls->user);
	json_bool(json, "landlock", walls->landlock);
	json_i64(json, "landlock_abi", walls->landlock);
	json_bool(json, "seccomp", walls->seccomp);
	json_bool(json, "namespaces", walls->spaces.own);
	json_bool(json, "read_only", walls->spaces.read_only);
	json_bool(json, "own_proc", walls->spaces.own_proc);
	json_object_end(json);
	json_object_end(json);
}

static int file_hash(const char *path, uint8_t ret[SHA256_BYTES], struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_open(path, &map, reterr);

	if (r == 0 && sha256_of(map.data, map.size, ret) < 0)
		r = fault_errno(reterr, -ENOMEM, "the report");
	return r;
}

int report_write(const char *path, const struct image *program, const struct profile *profile,
		 const char *profile_path, const struct edit_options *options,
		 const struct edit_report *report, const struct sandbox_report *walls, struct fault *reterr)
{
	uint8_t profile_sha256[SHA256_BYTES];
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct json json = json_to(out);
	int r = out ? file_hash(profile_path, profile_sha256, reterr) :
		      fault_errno(reterr, -ENOMEM, "the report");

	if (!out)
		return r;
	if (r == 0)
		report_json(&json, program, profile, profile_sha256, options, report, walls);
	if (fclose(out) != 0 && r == 0)
		r = fault_errno(reterr, -ENOMEM, "the report");
	else if (r == 0 && !path)
		fwrite(text, 1, size, stdout); /* base/standard_output.h tells of a failure */
	else if (r == 0)
		r = file_write(path, text, size, 0644, reterr);
	free(text);
	return r;
}

void report_check_print(const char *program, bool regenerates, const struct fault *difference)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_string(&json, "program", program);
	json_bool(&json, "regenerates", regenerates);
	json_string(&json, "difference", regenerates ? NULL : difference->text);
	json_object_end(&json);
}
