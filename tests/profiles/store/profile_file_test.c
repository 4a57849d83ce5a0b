/* SPDX-License-Identifier: Apache-2.0 */

/* The profile's form in bytes, and its file: docs/format-profile.md. */

#define _GNU_SOURCE

#include "profiles/store/profile.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "base/container.h"
#include "base/file.h"
#include "profiles/store/seen.h"
#include "tests/profiles/store/example.h"

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

static bool seen_has(const struct profile *profile, const struct profile_seen *seen)
{
	for (size_t i = 0; i < profile->n_seen; i++)
		if (memcmp(&profile->seen[i], seen, sizeof(*seen)) == 0)
			return true;
	return false;
}

/* Written only where there is something: other profiles keep their version. */
TEST(what_was_seen_is_written_and_adds_up)
{
	static const struct profile_seen expected[] = { { 16, 8, 3 },
							{ 16, PROFILE_SEEN_SAMPLE, 14 },
							{ 16, 1ull << 39, 1 },
							{ 4096, PROFILE_SEEN_SAMPLE, 5 } };
	_clean_(profile_freep) struct profile *profile = example(), *read = NULL, *empty = NULL;
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct fault fault = { "" };
	unsigned kind, version;

	CHECK_INT(profile_encode(profile, &bytes), 0);
	CHECK_INT(container_peek(bytes.data, bytes.size, &kind, &version, &fault), 0);
	CHECK_INT(version, PROFILE_VERSION);
	buffer_done(&bytes);
	bytes = (struct buffer){ 0 };
	CHECK_INT(seen_place(profile, 4096, PROFILE_SEEN_SAMPLE, 5), 0);
	CHECK_INT(seen_place(profile, 16, PROFILE_SEEN_SAMPLE, 7), 0);
	CHECK_INT(seen_place(profile, 16, 8, 3), 0);
	CHECK_INT(seen_place(profile, 99, 8, 0), 0); /* nothing */
	CHECK_INT(seen_place(profile, 16, 1ull << 39, 1), 0);
	CHECK_INT(seen_place(profile, 16, PROFILE_SEEN_SAMPLE, 7), 0);
	seen_sort(profile);
	CHECK(seen_samples(profile) == 19);
	CHECK_INT(profile_encode(profile, &bytes), 0);
	if (profile_decode(bytes.data, bytes.size, &read, &fault) < 0)
		FAIL("%s", fault.text);
	CHECK_INT(read->n_seen, 4);
	CHECK_INT(read->n_functions, profile->n_functions);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) /* the sample is the last of its byte */
		CHECK(seen_has(read, &expected[i]));
	CHECK_INT(profile_merge(read, 1, profile, &fault), 0);
	CHECK(seen_samples(read) == 38 && read->n_seen == 4);
	CHECK_INT(profile_merge(read, 0, profile, &fault), 0);
	CHECK(seen_samples(read) == 19 && read->n_seen == 4);
	CHECK(seen_none(read, "x.prof", &fault) == -EINVAL && strstr(fault.text, "19 samples"));
	empty = example();
	CHECK_INT(seen_none(empty, "x.prof", &fault), 0);
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

	CHECK_INT(container_pack(CONTAINER_PROFILE, PROFILE_VERSION_SEEN + 1, "x", 1, 0, &newer), 0);
	CHECK_INT(decode_error(newer.data, newer.size, &fault), -EPROTONOSUPPORT);
	CHECK(strstr(fault.text, "version 4"));
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
