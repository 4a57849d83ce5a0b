/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/store/carry.h"

#include <errno.h>
#include <math.h>

#include "tests/test.h"

static const struct build_id old_id = { .size = 2, .bytes = { 1, 1 } };
static const struct build_id new_id = { .size = 2, .bytes = { 2, 2 } };

static void function_add(struct profile *profile, uint64_t guid, uint64_t cfg_hash, const char *name,
			 double samples)
{
	struct profile_function *f = profile_function(profile, guid);

	CHECK_INT(profile_function_resize(f, 3), 0);
	f->cfg_hash = cfg_hash;
	f->name = strdup(name);
	f->samples = samples;
	f->counts[2] = (struct profile_count){ 42, 200 };
	profile->samples += samples;
}

static struct profile *old_profile(void)
{
	struct profile *profile = profile_new();

	profile->build_id = old_id;
	profile->path = strdup("/usr/bin/x");
	profile->scale = 1.5;
	function_add(profile, 10, 100, "same", 60);
	function_add(profile, 20, 200, "changed", 25);
	function_add(profile, 30, 300, "gone", 10);
	function_add(profile, 40, 0, "unknown", 5);
	return profile;
}

/* The part of a block map that carrying looks at. */
static struct block_ir_function ir_functions[] = {
	{ 10, 100, "same" },
	{ 20, 201, "changed" },
	{ 40, 400, "unknown" },
	{ 50, 500, "new" },
};
static struct block_map new_map = { .ir_functions = ir_functions,
				    .n_ir_functions = ARRAY_SIZE(ir_functions) };

TEST(unchanged_functions_keep_their_counts_and_others_start_fresh)
{
	_clean_(profile_freep) struct profile *old = old_profile(), *now = NULL;
	struct carry_report report;

	CHECK_INT(carry_profile(old, &new_map, &new_id, &now, &report, NULL), 0);
	CHECK(build_id_is_equal(&now->build_id, &new_id));
	CHECK_INT(now->n_functions, 1);
	CHECK_STR(now->functions[0].name, "same");
	CHECK(now->functions[0].counts[2].executions == 42 && now->functions[0].counts[2].confidence == 200);
	CHECK(now->scale == 1.5 && now->samples == 60 && now->dropped == 40 && now->carried == 1);
	CHECK(report.n_carried == 1 && report.n_changed == 1 && report.n_gone == 1 && report.n_unknown == 1);
	CHECK(report.samples_carried == 60 && report.samples_dropped == 40);
}

TEST(a_hash_collision_of_names_is_not_carried)
{
	_clean_(profile_freep) struct profile *old = profile_new(), *now = NULL;
	struct carry_report report;

	old->build_id = old_id;
	function_add(old, 10, 100, "other", 60);
	CHECK_INT(carry_profile(old, &new_map, &new_id, &now, &report, NULL), 0);
	CHECK(now->n_functions == 0 && report.n_changed == 1 && now->carried == 0);
}

TEST(a_profile_of_the_same_build_needs_no_carrying)
{
	_clean_(profile_freep) struct profile *old = old_profile(), *now = NULL;
	struct carry_report report;
	struct fault fault;

	CHECK_INT(carry_profile(old, &new_map, &old_id, &now, &report, &fault), -EEXIST);
	CHECK(strstr(fault.text, "0101") && !now);
}

TEST(what_was_carried_and_dropped_fades_with_new_samples_and_survives_the_file)
{
	_clean_(profile_freep) struct profile *old = old_profile(), *now = NULL, *fresh = profile_new();
	_clean_(profile_freep) struct profile *again = NULL;
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct carry_report report;

	fresh->build_id = new_id;
	function_add(fresh, 20, 201, "changed", 30);
	CHECK_INT(carry_profile(old, &new_map, &new_id, &now, &report, NULL), 0);
	CHECK_INT(profile_merge(now, 0.5, fresh, NULL), 0);
	CHECK(fabs(now->carried - 0.5) < 1e-9 && now->dropped == 20);
	CHECK_INT(profile_encode(now, &bytes), 0);
	CHECK_INT(profile_decode(bytes.data, bytes.size, &again, NULL), 0);
	CHECK(again->carried == now->carried && again->dropped == 20);
}

TEST_MAIN()
