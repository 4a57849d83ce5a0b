/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE

#include "profiles/store/profile.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "base/container.h"
#include "base/file.h"
#include "profiles/store/history.h"
#include "tests/test.h"

#define DAY_NS (24 * 3600 * 1000000000ull)

static void function_add(struct profile *profile, uint64_t guid, const char *name, double samples,
			 uint64_t first_count, uint32_t n_counts)
{
	struct profile_function *f = profile_function(profile, guid);

	CHECK(f && profile_function_resize(f, n_counts) == 0);
	f->name = name ? strdup(name) : NULL;
	f->cfg_hash = guid * 3;
	f->samples = samples;
	f->confidence = 200;
	profile->samples += samples;
	for (uint32_t i = 0; i < n_counts; i++)
		f->counts[i] = (struct profile_count){ first_count >> i, first_count >> i ? 213 : 0 };
}

static struct profile *example(void)
{
	struct profile *profile = profile_new();

	profile->build_id = (struct build_id){ .size = 4, .bytes = { 1, 2, 3, 4 } };
	profile->path = strdup("/usr/bin/example");
	profile->estimator = strdup("best");
	profile->unmapped = 3.5;
	profile->first_ns = 1700000000000000000u;
	profile->last_ns = profile->first_ns + DAY_NS;
	profile->activity_ns = DAY_NS / 24;
	function_add(profile, 0xffffffffffffff00u, "last", 20, 1u << 20, 24);
	function_add(profile, 5, "first", 70, 1000, 3);
	function_add(profile, 77, NULL, 10, 7, 1);
	return profile;
}

static char *dump(const struct profile *profile)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	profile_dump(profile, out);
	fclose(out);
	return text;
}

static void check_equal(const struct profile *a, const struct profile *b)
{
	_clean_(freep) char *x = dump(a), *y = dump(b);

	CHECK_STR(x, y);
}

static struct profile *copy(const struct profile *profile)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct profile *again = NULL;
	struct fault fault = { "" };

	CHECK_INT(profile_encode(profile, &bytes), 0);
	if (profile_decode(bytes.data, bytes.size, &again, &fault) != 0)
		FAIL("%s", fault.text);
	return again;
}

TEST(functions_stay_sorted_and_are_found)
{
	_clean_(profile_freep) struct profile *profile = profile_new();

	for (uint64_t i = 0; i < 1000; i++)
		CHECK(profile_function(profile, (i * 7919) % 1009)->guid == (i * 7919) % 1009);
	CHECK_INT(profile->n_functions, 1000);
	for (size_t i = 1; i < profile->n_functions; i++)
		CHECK(profile->functions[i - 1].guid < profile->functions[i].guid);
	CHECK(profile_find(profile, 7919 % 1009)->guid == 7919 % 1009);
	CHECK(!profile_find(profile, 5000));
}

TEST(reserving_functions_equals_adding_them_one_by_one)
{
	static const uint64_t guids[] = { 9, 3, 77, 3, 5, 1, 9 };
	_clean_(profile_freep) struct profile *one = example(), *many = example();

	for (size_t i = 0; i < ARRAY_SIZE(guids); i++)
		CHECK(profile_function(one, guids[i]));
	CHECK_INT(profile_reserve(many, guids, ARRAY_SIZE(guids)), 0);
	CHECK_INT(profile_reserve(many, NULL, 0), 0);
	check_equal(one, many);
}

TEST(counts_grow_but_never_shrink_nor_exceed_the_limit)
{
	struct profile_function f = { 0 };

	CHECK_INT(profile_function_resize(&f, 4), 0);
	f.counts[3].executions = 9;
	CHECK_INT(profile_function_resize(&f, 2), 0);
	CHECK_INT(f.n_counts, 4);
	CHECK_INT(profile_function_resize(&f, 8), 0);
	CHECK(f.counts[3].executions == 9 && f.counts[7].executions == 0);
	CHECK_INT(profile_function_resize(&f, PROFILE_MAX_COUNTS + 1), -E2BIG);
	free(f.counts);
}

TEST(a_profile_reads_back_as_written)
{
	_clean_(profile_freep) struct profile *a = example(), *b = NULL;

	a->scale = 1.25;
	a->carried = 0.5;
	b = copy(a);
	check_equal(a, b);
	CHECK(build_id_is_equal(&a->build_id, &b->build_id));
	CHECK(b->scale == 1.25 && b->carried == 0.5 && b->unmapped == 3.5);
}

TEST(an_empty_profile_reads_back_as_written)
{
	_clean_(profile_freep) struct profile *a = profile_new(), *b = copy(a);

	check_equal(a, b);
}

TEST(the_largest_counts_are_kept)
{
	_clean_(profile_freep) struct profile *a = example(), *b = NULL;
	struct profile_function *f = profile_function(a, 5);

	f->counts[0] = (struct profile_count){ UINT64_MAX, 255 };
	f->counts[1] = (struct profile_count){ UINT64_MAX - 1, 255 };
	b = copy(a);
	check_equal(a, b);
}

TEST(functions_of_which_nothing_is_known_are_not_written)
{
	_clean_(profile_freep) struct profile *a = example(), *b = NULL;

	CHECK_INT(profile_function_resize(profile_function(a, 6), 1000), 0);
	b = copy(a);
	CHECK(!profile_find(b, 6) && b->n_functions == 3);
}

TEST(a_known_zero_is_written)
{
	_clean_(profile_freep) struct profile *a = example(), *b = NULL;
	struct profile_function *f = profile_function(a, 6);

	CHECK_INT(profile_function_resize(f, 2), 0);
	f->counts[1].confidence = 32;
	b = copy(a);
	CHECK_INT(profile_find(b, 6)->counts[1].confidence, 32);
}

TEST(the_same_profile_gives_the_same_bytes)
{
	_clean_(buffer_donep) struct buffer a = { 0 }, b = { 0 };
	_clean_(profile_freep) struct profile *x = example(), *y = example();

	CHECK_INT(profile_encode(x, &a), 0);
	CHECK_INT(profile_encode(y, &b), 0);
	CHECK(a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
}

TEST(merging_adds_counts_and_samples)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();

	function_add(b, 6, "new", 100, 64, 2);
	CHECK_INT(profile_merge(a, 1, b, NULL), 0);
	CHECK_INT(a->n_functions, 4);
	CHECK_INT(profile_find(a, 5)->counts[0].executions, 2000);
	CHECK_INT(profile_find(a, 6)->counts[1].executions, 32);
	CHECK_STR(profile_find(a, 6)->name, "new");
	CHECK(a->samples == 300 && a->unmapped == 7);
	CHECK(a->activity_ns == 2 * (DAY_NS / 24));
}

TEST(merged_counts_saturate)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();

	profile_function(a, 5)->counts[0].executions = UINT64_MAX - 5;
	CHECK_INT(profile_merge(a, 1, b, NULL), 0);
	CHECK(profile_find(a, 5)->counts[0].executions == UINT64_MAX);
	CHECK_INT(profile_merge(a, 0.9, b, NULL), 0);
	CHECK(profile_find(a, 5)->counts[0].executions == UINT64_MAX);
}

TEST(profiles_of_different_builds_are_not_added)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();
	_clean_(freep) char *before = dump(a), *after = NULL;
	struct fault fault;

	b->build_id.bytes[0] = 9;
	CHECK_INT(profile_merge(a, 1, b, &fault), -EXDEV);
	CHECK(strstr(fault.text, "01020304") && strstr(fault.text, "09020304"));
	after = dump(a);
	CHECK_STR(before, after);
}

TEST(exact_and_sampled_counts_are_not_added)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();
	struct fault fault;

	free(b->estimator);
	b->estimator = strdup("exact");
	CHECK_INT(profile_merge(a, 1, b, &fault), -EXDEV);
	CHECK(strstr(fault.text, "different units"));
}

TEST(an_empty_profile_takes_over_what_is_merged_into_it)
{
	_clean_(profile_freep) struct profile *a = profile_new(), *b = example();

	CHECK_INT(profile_merge(a, 1, b, NULL), 0);
	CHECK(build_id_is_equal(&a->build_id, &b->build_id));
	CHECK_STR(a->path, "/usr/bin/example");
	CHECK_INT(profile_find(a, 5)->counts[0].executions, 1000);
}

TEST(confidence_grows_with_independent_evidence_but_never_becomes_exact)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();
	uint8_t once = profile_find(a, 5)->counts[0].confidence;

	CHECK_INT(profile_merge(a, 1, b, NULL), 0);
	/* Two equal estimates with error e have error e / sqrt(2), up to the rounding of the confidence. */
	CHECK(fabs(profile_error(profile_find(a, 5)->counts[0].confidence) * sqrt(2) - profile_error(once)) <
	      0.02);
	CHECK(once == 213);
	for (unsigned i = 0; i < 20; i++) {
		_clean_(profile_freep) struct profile *same = copy(a);

		CHECK_INT(profile_merge(a, 1, same, NULL), 0);
	}
	CHECK_INT(profile_find(a, 5)->counts[0].confidence, 254);
}

TEST(confidence_has_room_for_errors_above_one_and_never_says_unknown)
{
	CHECK(profile_confidence(0) == 255 && profile_confidence(1) == 127 && profile_confidence(1e9) == 1);
	for (unsigned c = 1; c <= 255; c++)
		CHECK(abs((int)profile_confidence(profile_error((uint8_t)c)) - (int)c) <= 1);
	CHECK(isinf(profile_error(0)));
}

TEST(exact_counts_stay_exact)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();

	profile_function(a, 5)->counts[0].confidence = 255;
	profile_function(b, 5)->counts[0].confidence = 255;
	CHECK_INT(profile_merge(a, 1, b, NULL), 0);
	CHECK_INT(profile_find(a, 5)->counts[0].confidence, 255);
}

TEST(the_half_life_halves)
{
	CHECK(profile_weight(PROFILE_HALF_LIFE_NS, PROFILE_HALF_LIFE_NS) == 0.5);
	CHECK(profile_weight(0, PROFILE_HALF_LIFE_NS) == 1);
	CHECK(profile_weight(DAY_NS, 0) == 1);
}

/* One merge every five minutes for four weeks, all of them tiny: nothing may get stuck or lost. */
TEST(thousands_of_small_aged_merges_keep_their_sum)
{
	_clean_(profile_freep) struct profile *sum = profile_new(), *step = profile_new();
	double weight = profile_weight(DAY_NS / 288, PROFILE_HALF_LIFE_NS), expected = 0;
	const unsigned n = 28 * 288;

	step->build_id = (struct build_id){ .size = 1, .bytes = { 1 } };
	function_add(step, 1, "f", 1, 3, 2); /* counts 3 and 1: rounding each merge would be fatal */
	for (unsigned i = 0; i < n; i++) {
		CHECK_INT(profile_merge(sum, weight, step, NULL), 0);
		expected = expected * weight + 1;
	}
	CHECK(sum->scale >= 1 && sum->scale < 2);
	CHECK(fabs(sum->samples / expected - 1) < 1e-9);
	CHECK(fabs((double)sum->functions[0].counts[0].executions / sum->scale / (3 * expected) - 1) < 0.15);
}

/* The same through a file each time: rounding goes either way, so the sum is off by no more than it says. */
TEST(thousands_of_small_merges_keep_their_sum_though_each_is_written)
{
	_clean_(profile_freep) struct profile *sum = profile_new(), *step = profile_new();
	const unsigned n = 4000, n_functions = 40;
	double total = 0, error;

	step->build_id = (struct build_id){ .size = 1, .bytes = { 1 } };
	for (unsigned i = 0; i < n_functions; i++)
		function_add(step, i + 1, "f", 0.3, 1000, 1);
	step->activity_ns = 1000;
	for (unsigned i = 0; i < n; i++) {
		struct profile *again = NULL;

		CHECK_INT(profile_merge(sum, 1, step, NULL), 0);
		again = copy(sum);
		profile_free(sum);
		sum = again;
	}
	for (unsigned i = 0; i < n_functions; i++) {
		total += (double)sum->functions[i].counts[0].executions;
		CHECK(fabs(sum->functions[i].samples / (0.3 * n) - 1) < 0.05);
		CHECK(fabs((double)sum->functions[i].counts[0].executions / (1000.0 * n) - 1) < 0.25);
	}
	error = total / (1000.0 * n * n_functions) - 1;
	if (fabs(error) > 0.03)
		FAIL("the mean of %u counts is off by %.1f %%", n_functions, 100 * error);
}

TEST(counts_are_kept_to_half_a_sample)
{
	for (unsigned confidence = 1; confidence < 256; confidence++) {
		_clean_(profile_freep) struct profile *a = profile_new(), *b = NULL;
		struct profile_function *f = profile_function(a, 1);
		double error, worth;
		int written;

		CHECK_INT(profile_function_resize(f, 64), 0);
		for (unsigned i = 0; i < 64; i++)
			f->counts[i] =
				(struct profile_count){ 0xfedcba9876543210u >> i, (uint8_t)confidence };
		b = copy(a);
		written = b->functions[0].counts[0].confidence;
		error = profile_error((uint8_t)written);
		worth = fmin(error * error / 2, 0x1p-4);
		CHECK(abs(written - (int)confidence) < 16 && (written == 255) == (confidence == 255));
		for (unsigned i = 0; i < 64; i++) {
			double from = (double)f->counts[i].executions;

			CHECK(fabs((double)b->functions[0].counts[i].executions - from) <= from * worth);
			CHECK(b->functions[0].counts[i].confidence == written);
		}
	}
}

TEST(what_was_read_is_written_as_it_is)
{
	_clean_(profile_freep) struct profile *a = example(), *b = NULL, *c = NULL;
	struct profile_function *f = profile_function(a, 9);

	f->samples = 12.345;
	CHECK_INT(profile_function_resize(f, 200), 0);
	for (unsigned i = 0; i < 200; i++)
		f->counts[i] = (struct profile_count){ i * i * i * 12345u, (uint8_t)(i + 56) };
	b = copy(a);
	c = copy(b);
	check_equal(b, c);
}

/* Equal counts are equal by the graph; a layout must not see differences that rounding made. */
TEST(equal_counts_stay_equal)
{
	_clean_(profile_freep) struct profile *a = example(), *b = NULL;
	struct profile_function *f = profile_function(a, 9);

	CHECK_INT(profile_function_resize(f, 500), 0);
	for (unsigned i = 0; i < 500; i++)
		f->counts[i] = (struct profile_count){ 1000003, 120 };
	b = copy(a);
	for (unsigned i = 1; i < 500; i++)
		CHECK_INT(profile_find(b, 9)->counts[i].executions, profile_find(b, 9)->counts[0].executions);
}

static void double_put(struct buffer *out, double v)
{
	buffer_bytes(out, &v, sizeof(v));
}

/* Byte for byte what Morph wrote before it had the range coder. */
TEST(profiles_of_the_first_version_are_read)
{
	_clean_(buffer_donep) struct buffer payload = { 0 }, bytes = { 0 };
	_clean_(profile_freep) struct profile *profile = NULL;
	const struct profile_function *f;
	struct fault fault = { "" };
	float samples = 42.5f;

	buffer_string(&payload, "\1\2", 2);
	buffer_string(&payload, "/bin/x", 6);
	buffer_string(&payload, "best", 4);
	double_put(&payload, 42.5);
	double_put(&payload, 1);
	double_put(&payload, 0);
	double_put(&payload, 0);
	double_put(&payload, 1.5);
	buffer_uleb(&payload, 1000);
	buffer_uleb(&payload, 2000);
	buffer_uleb(&payload, 500);
	buffer_u8(&payload, 77); /* common confidence */
	buffer_uleb(&payload, 1);
	buffer_string(&payload, "f", 1);
	buffer_u8(&payload, 0);
	buffer_u64(&payload, 9);
	buffer_u64(&payload, 0xabcdef);
	buffer_bytes(&payload, &samples, sizeof(samples));
	buffer_u8(&payload, 200);
	buffer_uleb(&payload, 5);
	buffer_u8(&payload, 2 | 1 << 2 | 2 << 4 | 0 << 6); /* runs, zero, runs, unknown */
	buffer_u8(&payload, 3);				   /* zero with another confidence */
	buffer_uleb(&payload, 0);
	buffer_uleb(&payload, 1);
	buffer_uleb(&payload, 123457);
	buffer_u8(&payload, 150);
	buffer_u8(&payload, 151);
	buffer_u8(&payload, 99);
	buffer_u8(&payload, 0); /* epochs */
	CHECK_INT(container_pack(CONTAINER_PROFILE, PROFILE_VERSION_COLUMNS, payload.data, payload.size, 9,
				 &bytes),
		  0);
	if (profile_decode(bytes.data, bytes.size, &profile, &fault) < 0)
		FAIL("%s", fault.text);
	f = profile_find(profile, 9);
	CHECK(f && f->n_counts == 5 && f->samples == 42.5 && f->cfg_hash == 0xabcdef &&
	      profile->scale == 1.5);
	CHECK_STR(f->name, "f");
	CHECK(f->counts[0].executions == 123457 && f->counts[0].confidence == 150);
	CHECK(f->counts[1].executions == 0 && f->counts[1].confidence == 77);
	CHECK(f->counts[2].executions == 123457 && f->counts[2].confidence == 151);
	CHECK(f->counts[3].executions == 0 && f->counts[3].confidence == 0);
	CHECK(f->counts[4].executions == 0 && f->counts[4].confidence == 99);
}

TEST(old_counts_age_away_completely)
{
	_clean_(profile_freep) struct profile *sum = example(), *step = profile_new();

	step->build_id = sum->build_id;
	for (unsigned i = 0; i < 200; i++)
		CHECK_INT(profile_merge(sum, 0.8, step, NULL), 0);
	for (size_t i = 0; i < sum->n_functions; i++)
		CHECK_INT(sum->functions[i].counts[0].executions, 0);
}

TEST(weight_zero_forgets_the_past)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();

	profile_function(a, 5)->counts[0].executions = 123456789;
	CHECK_INT(profile_merge(a, 0, b, NULL), 0);
	CHECK_INT(profile_find(a, 5)->counts[0].executions, 1000);
	CHECK(a->samples == 100);
}

TEST(the_carried_share_fades_as_new_samples_come)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();

	a->carried = 0.8;
	CHECK_INT(profile_merge(a, 0.5, b, NULL), 0);
	CHECK(fabs(a->carried - 0.8 * 50 / 150) < 1e-9);
}

TEST(epochs_are_few_and_hold_all_samples)
{
	_clean_(profile_freep) struct profile *sum = profile_new(), *again = NULL;
	double samples = 0;

	for (unsigned i = 0; i < 50; i++) {
		_clean_(profile_freep) struct profile *step = example();

		step->first_ns += i * DAY_NS;
		step->last_ns += i * DAY_NS;
		CHECK_INT(profile_merge(sum, 1, step, NULL), 0);
		CHECK(sum->n_epochs <= PROFILE_MAX_EPOCHS);
	}
	again = copy(sum);
	profile_free(sum);
	sum = copy(again);
	check_equal(sum, again);
	CHECK_INT(sum->n_epochs, PROFILE_MAX_EPOCHS);
	for (size_t i = 0; i < sum->n_epochs; i++) {
		samples += sum->epochs[i].samples;
		CHECK(i == 0 || sum->epochs[i - 1].last_ns < sum->epochs[i].last_ns);
	}
	CHECK(fabs(samples - 5000) < 1e-6);
}

TEST(a_change_of_usage_shows_in_the_epochs)
{
	_clean_(profile_freep) struct profile *a = profile_new(), *b = profile_new();

	a->build_id = b->build_id = (struct build_id){ .size = 1, .bytes = { 1 } };
	a->first_ns = a->last_ns = 1;
	b->first_ns = b->last_ns = 2;
	for (uint64_t i = 0; i < 10; i++) {
		function_add(a, i, "f", 1000, 10, 1);
		function_add(b, i + 5, "f", 1000, 10, 1);
	}
	CHECK_INT(profile_merge(a, 1, b, NULL), 0);
	CHECK_INT(a->n_epochs, 2);
	CHECK(fabs(history_overlap(&a->epochs[0], &a->epochs[1]) - 0.5) < 0.01);
	CHECK(history_overlap(&a->epochs[0], &a->epochs[0]) > 0.9999);
	CHECK(history_overlap_expected(&a->epochs[0], &a->epochs[1]) > 0.97);
}

static int decode_error(const void *bytes, size_t size, struct fault *fault)
{
	struct profile *profile = NULL;
	int r = profile_decode(bytes, size, &profile, fault);

	CHECK(r != 0 && !profile && fault->text[0]);
	return r;
}

TEST(damage_and_truncation_are_told)
{
	_clean_(profile_freep) struct profile *profile = example();
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct fault fault = { "" };

	CHECK_INT(profile_encode(profile, &bytes), 0);
	CHECK_INT(decode_error(bytes.data, bytes.size - 1, &fault), -EBADMSG);
	CHECK(strstr(fault.text, "truncated"));
	bytes.data[bytes.size - 1] ^= 1;
	CHECK_INT(decode_error(bytes.data, bytes.size, &fault), -EBADMSG);
	CHECK(strstr(fault.text, "checksum"));
	CHECK_INT(decode_error("", 0, &fault), -EBADMSG);
}

TEST(another_version_or_kind_is_refused_by_name)
{
	_clean_(buffer_donep) struct buffer newer = { 0 }, other = { 0 };
	struct fault fault = { "" };

	CHECK_INT(container_pack(CONTAINER_PROFILE, PROFILE_VERSION + 1, "x", 1, 0, &newer), 0);
	CHECK_INT(decode_error(newer.data, newer.size, &fault), -EPROTONOSUPPORT);
	CHECK(strstr(fault.text, "version 3"));
	CHECK(strstr(fault.text, "install a newer Morph"));
	CHECK_INT(container_pack(CONTAINER_SAMPLE_LOG, 1, "x", 1, 0, &other), 0);
	CHECK_INT(decode_error(other.data, other.size, &fault), -EPROTONOSUPPORT);
	CHECK(strstr(fault.text, "a sample log, not a profile"));
}

TEST(a_hostile_size_is_refused_before_memory_is_taken)
{
	_clean_(buffer_donep) struct buffer zeros = { 0 }, bomb = { 0 };
	struct fault fault = { "" };

	zeros.data = calloc(1, 80u << 20);
	zeros.size = zeros.capacity = 80u << 20;
	CHECK_INT(container_pack(CONTAINER_PROFILE, PROFILE_VERSION, zeros.data, zeros.size, 1, &bomb), 0);
	CHECK_INT(decode_error(bomb.data, bomb.size, &fault), -EBADMSG);
	CHECK(strstr(fault.text, "most"));
}

/* Cut short, or with a byte changed under a checksum that fits: an error, or a profile; never more than that. */
TEST(no_payload_does_harm)
{
	_clean_(profile_freep) struct profile *profile = example();
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	const unsigned frame = 32;

	CHECK_INT(profile_encode(profile, &bytes), 0);
	for (size_t i = 0; i < (bytes.size - frame) * 9; i++) {
		_clean_(buffer_donep) struct buffer bad = { 0 }, payload = { 0 };
		_clean_(profile_freep) struct profile *ret = NULL;
		struct fault fault = { "" };
		size_t at = i / 9;

		buffer_bytes(&payload, bytes.data + frame, i % 9 == 8 ? at : bytes.size - frame);
		if (i % 9 < 8)
			payload.data[at] ^= (uint8_t)(1u << i % 9);
		CHECK_INT(container_pack(CONTAINER_PROFILE, PROFILE_VERSION, payload.data, payload.size, 0,
					 &bad),
			  0);
		CHECK(profile_decode(bad.data, bad.size, &ret, &fault) == -EBADMSG || i % 9 < 8);
	}
}

static char directory[] = "/tmp/morph-profile-test.XXXXXX";

static const char *scratch(const char *name)
{
	static char path[256];

	if (!strchr(directory, '.') || strstr(directory, "XXXXXX"))
		CHECK(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

TEST(files_are_written_whole_and_read_back)
{
	_clean_(profile_freep) struct profile *a = example(), *b = NULL;
	const char *path = scratch("a.prof");

	CHECK_INT(profile_write(a, path, NULL), 0);
	CHECK_INT(profile_read(path, &b, NULL), 0);
	check_equal(a, b);
	CHECK_INT(file_remove_tree(directory, NULL), 0);
	strcpy(directory, "/tmp/morph-profile-test.XXXXXX");
}

TEST(a_bad_file_is_set_aside_with_its_reason)
{
	_clean_(file_map_donep) struct file_map reason = { 0 };
	struct profile *profile = NULL;
	struct fault fault;
	char path[256];
	int r;

	snprintf(path, sizeof(path), "%s", scratch("b.prof"));
	CHECK_INT(file_write(path, "not a profile", 13, 0600, NULL), 0);
	r = profile_read(path, &profile, &fault);
	CHECK(profile_is_damaged(r) && strstr(fault.text, path));
	CHECK_INT(profile_quarantine(path, &fault, NULL), 0);
	CHECK_INT(profile_read(path, &profile, &fault), -ENOENT);
	CHECK(!profile_is_damaged(-ENOENT));
	CHECK_INT(access(scratch("b.prof.bad"), R_OK), 0);
	CHECK_INT(file_map_open(scratch("b.prof.bad.reason"), &reason, NULL), 0);
	CHECK(memmem(reason.data, reason.size, "not a file written by Morph\n", 28));
	CHECK_INT(file_remove_tree(directory, NULL), 0);
}

TEST_MAIN()
