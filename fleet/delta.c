/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Arrays in binary: dimensions, has NULLs, type of the elements; length and lower bound; then for each element its size and
 * bytes. All big-endian. (PostgreSQL: array_recv() in src/backend/utils/adt/arrayfuncs.c.)
 */

#include "fleet/delta.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "profiles/store/seen.h"

/* As fleet.batch_check() has them (fleet/schema/functions.sql). */
#define FUNCTIONS_MAX 65536u
#define COUNTS_MAX 1000000u
#define SEEN_MAX 65536u

enum { BIGINT = 20, INTEGER = 23, REAL = 700 }; /* types, by PostgreSQL's numbers */

static void put_u32(struct buffer *to, uint32_t value)
{
	value = htobe32(value);
	buffer_bytes(to, &value, sizeof(value));
}

static void put_bigint(struct buffer *to, uint64_t value)
{
	put_u32(to, 8);
	value = htobe64(value);
	buffer_bytes(to, &value, sizeof(value));
}

static void put_integer(struct buffer *to, uint32_t value)
{
	put_u32(to, 4);
	put_u32(to, value);
}

static void put_real(struct buffer *to, double value)
{
	float narrow = (float)value;
	uint32_t bits;

	memcpy(&bits, &narrow, sizeof(bits));
	put_integer(to, bits);
}

static void array_begin(struct buffer *to, uint32_t type, uint32_t n)
{
	put_u32(to, n > 0); /* an empty one has no dimension */
	put_u32(to, 0);
	put_u32(to, type);
	if (!n)
		return;
	put_u32(to, n);
	put_u32(to, 1);
}

/* Did a sample fall into it, and is something known of its blocks? */
static bool is_seen(const struct profile_function *f)
{
	if (!(f->samples > 0))
		return false;
	for (uint32_t i = 0; i < f->n_counts; i++)
		if (f->counts[i].confidence)
			return true;
	return false;
}

static void function_add(struct delta *to, const struct profile_function *f)
{
	put_bigint(&to->arrays[DELTA_GUIDS], f->guid);
	put_bigint(&to->arrays[DELTA_HASHES], f->cfg_hash);
	put_real(&to->arrays[DELTA_SAMPLES], f->samples);
	put_integer(&to->arrays[DELTA_SIZES], f->n_counts);
	for (uint32_t i = 0; i < f->n_counts; i++) {
		const struct profile_count *count = &f->counts[i];

		put_real(&to->arrays[DELTA_EXECUTIONS], count->confidence ? (double)count->executions : 0);
		put_real(&to->arrays[DELTA_ERRORS],
			 count->confidence ? profile_error(count->confidence) : -1);
	}
}

/* How many there are, and whether that is anything. */
static int delta_count(const struct profile *profile, struct delta *ret, struct fault *reterr)
{
	size_t n_functions = 0, n_counts = 0;
	double executions = 0, samples = 0;

	for (size_t i = 0; i < profile->n_functions; i++) {
		const struct profile_function *f = &profile->functions[i];

		if (!is_seen(f))
			continue;
		n_functions++;
		n_counts += f->n_counts;
		samples += f->samples;
		for (uint32_t j = 0; j < f->n_counts; j++)
			executions += f->counts[j].confidence ? (double)f->counts[j].executions : 0;
	}
	if (!(samples >= 1) || !(executions > 0))
		n_functions = n_counts = 0;
	if (!n_functions && !(seen_samples(profile) >= 1))
		return fault_set(reterr, -ENODATA,
				 "the profile has no counts that another machine could use");
	if (n_functions > FUNCTIONS_MAX || n_counts > COUNTS_MAX || profile->n_seen > SEEN_MAX)
		return fault_set(reterr, -E2BIG,
				 "the profile has %zu functions with %zu blocks, %zu places; a batch takes "
				 "%u, %u and %u",
				 n_functions, n_counts, profile->n_seen, FUNCTIONS_MAX, COUNTS_MAX, SEEN_MAX);
	ret->n_functions = (uint32_t)n_functions;
	ret->n_counts = (uint32_t)n_counts;
	ret->n_seen = seen_samples(profile) >= 1 ? (uint32_t)profile->n_seen : 0;
	return 0;
}

static void seen_put(const struct profile_seen *seen, struct delta *ret)
{
	put_bigint(&ret->arrays[DELTA_FROMS], seen->from);
	put_bigint(&ret->arrays[DELTA_TARGETS], seen->to); /* PROFILE_SEEN_SAMPLE is -1 */
	put_real(&ret->arrays[DELTA_WEIGHTS], (double)seen->count);
}

int delta_of(const struct profile *profile, struct delta *ret, struct fault *reterr)
{
	static const uint32_t types[DELTA_ARRAYS] = { BIGINT, BIGINT, REAL,   INTEGER, REAL,
						      REAL,   BIGINT, BIGINT, REAL };
	int r = delta_count(profile, ret, reterr);
	bool bad = false;

	if (r < 0)
		return r;
	for (int i = 0; i < DELTA_ARRAYS; i++)
		array_begin(&ret->arrays[i], types[i],
			    i < DELTA_EXECUTIONS ? ret->n_functions :
			    i < DELTA_FROMS	 ? ret->n_counts :
						   ret->n_seen);
	for (size_t i = 0; ret->n_functions && i < profile->n_functions; i++)
		if (is_seen(&profile->functions[i]))
			function_add(ret, &profile->functions[i]);
	for (size_t i = 0; i < ret->n_seen; i++)
		seen_put(&profile->seen[i], ret);
	for (int i = 0; i < DELTA_ARRAYS; i++)
		bad |= ret->arrays[i].bad;
	return bad ? fault_errno(reterr, -ENOMEM, "a batch of %u functions", ret->n_functions) : 0;
}

void delta_done(struct delta *delta)
{
	for (int i = 0; i < DELTA_ARRAYS; i++)
		buffer_done(&delta->arrays[i]);
}
