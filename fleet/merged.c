/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Arrays in binary: dimensions, has NULLs, type of the elements; length and lower bound of each dimension; then for each
 * element its size and bytes. All big-endian. (PostgreSQL: array_send() in src/backend/utils/adt/arrayfuncs.c.)
 */

#include "fleet/merged.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "profiles/store/seen.h"

/* Types of elements, by PostgreSQL's numbers. */
#define INT8_TYPE 20u
#define INT2_TYPE 21u
#define FLOAT4_TYPE 700u
#define FLOAT8_TYPE 701u

#define LARGEST 0x1p62
#define LARGEST_SEEN 0x1p40
#define FILE_BYTES_MAX (1ull << 40)

struct array {
	const uint8_t *at; /* borrowed: n elements of 4 bytes, which say @width, and these */
	uint32_t n, width;
};

static uint32_t read_u32(struct reader *reader)
{
	return be32toh(reader_u32(reader));
}

static uint64_t u64_of(const struct merged_field *field, bool *bad)
{
	struct reader reader = reader_of(field->bytes, field->size);
	uint64_t ret = be64toh(reader_u64(&reader));

	*bad |= reader.bad || reader_left(&reader);
	return ret;
}

static double real_of_bits(uint64_t bits)
{
	double ret;

	memcpy(&ret, &bits, sizeof(ret));
	return ret;
}

static double real_of(const struct merged_field *field, bool *bad)
{
	return real_of_bits(u64_of(field, bad));
}

static int array_of(const struct merged_field *field, uint32_t type, uint32_t width, struct array *ret)
{
	struct reader reader = reader_of(field->bytes, field->size);
	uint32_t dimensions = read_u32(&reader), has_nulls = read_u32(&reader),
		 type_there = read_u32(&reader);
	uint32_t n = read_u32(&reader), lower = read_u32(&reader);

	if (reader.bad || dimensions != 1 || has_nulls || type_there != type || lower != 1 || !n ||
	    n > PROFILE_MAX_COUNTS || reader_left(&reader) != (4ull + width) * n)
		return -EBADMSG;
	*ret = (struct array){ .at = reader.at, .n = n, .width = width };
	for (uint32_t i = 0; i < n; i++)
		if (read_u32(&reader) != width || !reader_bytes(&reader, width))
			return -EBADMSG;
	return 0;
}

/* As a number without a sign. */
static uint64_t bits_at(const struct array *array, uint32_t i)
{
	const uint8_t *at = array->at + (4ull + array->width) * i + 4;
	uint64_t ret = 0;

	for (uint32_t j = 0; j < array->width; j++)
		ret = ret << 8 | at[j];
	return ret;
}

static double element(const struct array *array, uint32_t i)
{
	return real_of_bits(bits_at(array, i));
}

static float narrow_element(const struct array *array, uint32_t i)
{
	uint32_t bits = (uint32_t)bits_at(array, i);
	float ret;

	memcpy(&ret, &bits, sizeof(ret));
	return ret;
}

int merged_begin(const struct build_id *build_id, struct merged *ret)
{
	*ret = (struct merged){ .profile = profile_new() };
	if (!ret->profile)
		return -ENOMEM;
	ret->profile->build_id = *build_id;
	ret->profile->scale = 1;
	ret->profile->estimator = strdup("fleet");
	return ret->profile->estimator ? 0 : -ENOMEM;
}

void merged_done(struct merged *merged)
{
	profile_free(merged->profile);
	merged->profile = NULL;
}

static bool count_of(double executions, double spread, double weight, struct profile_count *ret)
{
	double n = executions * weight * MERGED_ONE;

	if (!(n >= 0 && n < LARGEST) || !isfinite(spread))
		return false;
	ret->executions = (uint64_t)n;
	if (n > 0 && spread > 0)
		ret->confidence = profile_confidence(sqrt(spread) / executions);
	else if (n == 0 && spread < 0)
		ret->confidence = profile_confidence(sqrt(-1 / spread));
	else
		ret->executions = 0, ret->confidence = 0;
	return true;
}

static int counts_fill(struct profile_function *f, const struct array *executions, const struct array *spread,
		       double weight)
{
	double known = 0, all = 0;

	if (profile_function_resize(f, executions->n) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < executions->n; i++) {
		struct profile_count *count = &f->counts[i];

		if (!count_of(element(executions, i), element(spread, i), weight, count))
			return -EBADMSG;
		all += (double)count->executions;
		known += (double)count->executions * count->confidence;
	}
	f->confidence = all > 0 ? (uint8_t)fmax(1, known / all) : 1;
	return 0;
}

int merged_add(struct merged *merged, const struct merged_field fields[MERGED_FIELDS], struct fault *reterr)
{
	bool bad = false;
	uint64_t guid = u64_of(&fields[0], &bad), hash = u64_of(&fields[1], &bad);
	double weight = real_of(&fields[2], &bad), samples = real_of(&fields[3], &bad);
	struct array executions = { 0 }, spread = { 0 };
	struct profile_function *f;
	int r = 0;

	bad = bad || array_of(&fields[4], FLOAT8_TYPE, 8, &executions) < 0 ||
	      array_of(&fields[5], FLOAT8_TYPE, 8, &spread) < 0 || executions.n != spread.n ||
	      !(weight > 0 && weight <= 1) || !(samples >= 0 && samples < LARGEST) ||
	      profile_find(merged->profile, guid);
	if (bad)
		return fault_set(reterr, -EBADMSG,
				 "the database answers with what is no count of a function; its Morph may be "
				 "damaged, or it is not what it says");
	merged->n_counts += executions.n;
	if (merged->n_counts > MERGED_MAX_COUNTS)
		return fault_set(reterr, -EBADMSG,
				 "the database answers with more than %u blocks of a module",
				 MERGED_MAX_COUNTS);
	f = profile_function(merged->profile, guid);
	if (f)
		r = counts_fill(f, &executions, &spread, weight);
	if (!f || r == -ENOMEM)
		return fault_errno(reterr, -ENOMEM, "counts of %zu functions", merged->profile->n_functions);
	if (r < 0)
		return fault_set(reterr, r,
				 "the database answers with a count that is not a number, or too large");
	f->cfg_hash = hash;
	f->samples = samples * weight;
	merged->profile->samples += f->samples;
	return 0;
}

/* ---- what was seen ---- */

/* Parts of samples become whole ones, by the odds: the sum over places stays. */
static uint64_t whole(double weight, uint64_t from, uint64_t to)
{
	uint64_t die = (from * 0x9e3779b97f4a7c15u ^ to) * 0xbf58476d1ce4e5b9u;
	double floored = floor(weight);

	return (uint64_t)floored + (weight - floored > (double)(die >> 11) * 0x1p-53);
}

static int place_add(struct merged *merged, uint64_t page, uint64_t at, uint64_t to, double weight)
{
	uint64_t from = page * MERGED_PAGE_BYTES + at, count;

	if (at >= MERGED_PAGE_BYTES || !(weight >= 0 && weight < LARGEST_SEEN) ||
	    (to != PROFILE_SEEN_SAMPLE && to >= FILE_BYTES_MAX))
		return -EBADMSG;
	count = whole(weight, from, to);
	return count ? seen_place(merged->profile, from, to, count) : 0;
}

int merged_add_seen(struct merged *merged, const struct merged_field fields[MERGED_SEEN_FIELDS],
		    struct fault *reterr)
{
	struct array froms = { 0 }, targets = { 0 }, weights = { 0 };
	bool bad = false;
	uint64_t page = u64_of(&fields[0], &bad);
	double weight = real_of(&fields[1], &bad);
	int r = 0;

	bad = bad || array_of(&fields[2], INT2_TYPE, 2, &froms) < 0 ||
	      array_of(&fields[3], INT8_TYPE, 8, &targets) < 0 ||
	      array_of(&fields[4], FLOAT4_TYPE, 4, &weights) < 0 || froms.n != targets.n ||
	      froms.n != weights.n || !(weight > 0 && weight <= 1) ||
	      page >= FILE_BYTES_MAX / MERGED_PAGE_BYTES;
	for (uint32_t i = 0; !bad && r == 0 && i < froms.n; i++)
		r = place_add(merged, page, bits_at(&froms, i), bits_at(&targets, i),
			      narrow_element(&weights, i) * weight);
	if (r == -ENOMEM)
		return fault_errno(reterr, r, "samples of many");
	if (bad || r < 0)
		return fault_set(reterr, -EBADMSG,
				 "the database answers with samples that no file can have; its Morph may be "
				 "damaged, or it is not what it says");
	return 0;
}

void merged_end(struct merged *merged)
{
	seen_sort(merged->profile);
}
