/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/store/profile.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/text.h"

static void function_dump(const struct profile_function *f, FILE *out)
{
	fprintf(out, "function %016" PRIx64 " ", f->guid);
	text_print(out, f->name ? f->name : "-");
	fprintf(out, " cfg %016" PRIx64 " samples %.6g confidence %u\n", f->cfg_hash, f->samples,
		f->confidence);
	for (uint32_t i = 0; i < f->n_counts; i++)
		fprintf(out, "  %u: %" PRIu64 " confidence %u\n", i + 1, f->counts[i].executions,
			f->counts[i].confidence);
}

static void epoch_dump(const struct profile_epoch *epoch, FILE *out)
{
	fprintf(out, "epoch %" PRIu64 "..%" PRIu64 " ns samples %.6g\n", epoch->first_ns, epoch->last_ns,
		epoch->samples);
	for (size_t i = 0; i < epoch->n_shares; i++)
		fprintf(out, "  %016" PRIx64 " %.2f %%\n", epoch->shares[i].guid,
			epoch->shares[i].share * 100 / 65535.0);
}

static void seen_dump(const struct profile_seen *seen, FILE *out)
{
	fprintf(out, "seen 0x%" PRIx64, seen->from);
	if (seen->to != PROFILE_SEEN_SAMPLE)
		fprintf(out, " -> 0x%" PRIx64, seen->to);
	fprintf(out, ": %" PRIu64 "\n", seen->count);
}

void profile_dump(const struct profile *profile, FILE *out)
{
	char id[BUILD_ID_MAX_TEXT];

	fprintf(out, "profile of build %s\npath %s\nestimator %s\n",
		profile->build_id.size ? build_id_text(&profile->build_id, id) : "-",
		SHOWN(profile->path ? profile->path : "-"),
		SHOWN(profile->estimator ? profile->estimator : "-"));
	fprintf(out, "samples %.6g unmapped %.6g carried %.4g dropped %.6g scale %.6g\n", profile->samples,
		profile->unmapped, profile->carried, profile->dropped, profile->scale);
	fprintf(out, "observed %" PRIu64 "..%" PRIu64 " ns active %" PRIu64 " ns\n", profile->first_ns,
		profile->last_ns, profile->activity_ns);
	for (size_t i = 0; i < profile->n_functions; i++)
		function_dump(&profile->functions[i], out);
	for (size_t i = 0; i < profile->n_epochs; i++)
		epoch_dump(&profile->epochs[i], out);
	for (size_t i = 0; i < profile->n_seen; i++)
		seen_dump(&profile->seen[i], out);
}

/* A GUID or a hash needs all 64 bits, which JSON's numbers do not have. */
static void json_hex(struct json *json, const char *key, uint64_t value)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, value);
	json_string(json, key, text);
}

static void function_dump_json(const struct profile_function *f, struct json *json)
{
	json_object_begin(json, NULL);
	json_hex(json, "guid", f->guid);
	json_string(json, "name", f->name);
	json_hex(json, "cfg_hash", f->cfg_hash);
	json_double(json, "samples", f->samples);
	json_u64(json, "confidence", f->confidence);
	json_array_begin(json, "executions");
	for (uint32_t i = 0; i < f->n_counts; i++)
		json_u64(json, NULL, f->counts[i].executions);
	json_array_end(json);
	json_array_begin(json, "confidences");
	for (uint32_t i = 0; i < f->n_counts; i++)
		json_u64(json, NULL, f->counts[i].confidence);
	json_array_end(json);
	json_object_end(json);
}

static void epoch_dump_json(const struct profile_epoch *epoch, struct json *json)
{
	json_object_begin(json, NULL);
	json_u64(json, "first_ns", epoch->first_ns);
	json_u64(json, "last_ns", epoch->last_ns);
	json_double(json, "samples", epoch->samples);
	json_array_begin(json, "shares");
	for (size_t i = 0; i < epoch->n_shares; i++) {
		json_object_begin(json, NULL);
		json_hex(json, "guid", epoch->shares[i].guid);
		json_double(json, "share", epoch->shares[i].share / 65535.0);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void header_dump_json(const struct profile *profile, struct json *json)
{
	char id[BUILD_ID_MAX_TEXT];

	json_string(json, "build_id", build_id_text(&profile->build_id, id));
	json_string(json, "path", profile->path);
	json_string(json, "estimator", profile->estimator);
	json_double(json, "samples", profile->samples);
	json_double(json, "unmapped", profile->unmapped);
	json_double(json, "carried", profile->carried);
	json_double(json, "dropped", profile->dropped);
	json_double(json, "scale", profile->scale);
	json_u64(json, "first_ns", profile->first_ns);
	json_u64(json, "last_ns", profile->last_ns);
	json_u64(json, "activity_ns", profile->activity_ns);
}

static void seen_dump_json(const struct profile *profile, struct json *json)
{
	json_array_begin(json, "seen");
	for (size_t i = 0; i < profile->n_seen; i++) {
		const struct profile_seen *seen = &profile->seen[i];

		json_object_begin(json, NULL);
		json_u64(json, "from", seen->from);
		if (seen->to != PROFILE_SEEN_SAMPLE)
			json_u64(json, "to", seen->to);
		json_u64(json, "count", seen->count);
		json_object_end(json);
	}
	json_array_end(json);
}

void profile_dump_json(const struct profile *profile, FILE *out)
{
	struct json json = json_to(out);

	json_object_begin(&json, NULL);
	header_dump_json(profile, &json);
	json_array_begin(&json, "functions");
	for (size_t i = 0; i < profile->n_functions; i++)
		function_dump_json(&profile->functions[i], &json);
	json_array_end(&json);
	json_array_begin(&json, "epochs");
	for (size_t i = 0; i < profile->n_epochs; i++)
		epoch_dump_json(&profile->epochs[i], &json);
	json_array_end(&json);
	if (profile->n_seen)
		seen_dump_json(profile, &json);
	json_object_end(&json);
}
