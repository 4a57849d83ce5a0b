/* SPDX-License-Identifier: Apache-2.0 */

/*
 * float8[] in binary: dimensions, has NULLs, type of the elements; length and lower bound of each dimension; then for each
 * element its size and bytes. All big-endian. (PostgreSQL: array_send() in src/backend/utils/adt/arrayfuncs.c.)
 */

#include "fleet/merged.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"

#define FLOAT8_TYPE 701u
#define LARGEST 0x1p62

struct array {
	const uint8_t *at; /* borrowed: n elements of 4 + 8 bytes */
	uint32_t n;
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

static int array_of(const struct merged_field *field, struct array *ret)
{
	struct reader reader = reader_of(field->bytes, field->size);
	uint32_t dimensions = read_u32(&reader), has_nulls = read_u32(&reader), type = read_u32(&reader);
	uint32_t n = read_u32(&reader), lower = read_u32(&reader);

	if (reader.bad || dimensions != 1 || has_nulls || type != FLOAT8_TYPE || lower != 1 || !n ||
	    n > PROFILE_MAX_COUNTS || reader_left(&reader) != 12ull * n)
		return -EBADMSG;
	*ret = (struct array){ .at = reader.at, .n = n };
	for (uint32_t i = 0; i < n; i++)
		if (read_u32(&reader) != 8 || !reader_bytes(&reader, 8))
			return -EBADMSG;
	return 0;
}

static double element(const struct array *array, uint32_t i)
{
	uint64_t bits;

	memcpy(&bits, array->at + 12ull * i + 4, sizeof(bits));
	return real_of_bits(be64toh(bits));
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

	bad = bad || array_of(&fields[4], &executions) < 0 || array_of(&fields[5], &spread) < 0 ||
	      executions.n != spread.n || !(weight > 0 && weight <= 1) ||
	      !(samples >= 0 && samples < LARGEST) || profile_find(merged->profile, guid);
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
