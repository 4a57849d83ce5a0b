/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The payload of version 1, which Morph wrote until it had the range coder: profiles of that time are still read.
 *
 *	payload		header, functions, epochs
 *	header		build ID, path, estimator (strings), samples, unmapped, carried, dropped,
 *			scale (doubles), first, last, activity (ULEB, ns), common confidence (u8)
 *	functions	n (ULEB), then column by column, in the order of GUIDs:
 *	  name		string each; empty: unknown
 *	  flags		u8 each; bit 0: the GUID is that of the name
 *	  guid		u64 for each function without that flag
 *	  cfg hash	u64 each
 *	  samples	float each
 *	  confidence	u8 each
 *	  n counts	ULEB each
 *	  states	2 bits for each count (enum count_state), from the low end of each byte
 *	  which		for each count of state COUNT_RUNS a ULEB: 0: a new value; k: the value that
 *			was the k-th last new one of this function
 *	  values	ULEB for each new value, in the order of use
 *	  certainty	u8, the confidence, for each count of state COUNT_RUNS or COUNT_ZERO_OTHER
 *	epochs		n (u8), each: first, last (ULEB, ns), samples (float), n shares (ULEB),
 *			each: ULEB function number (after the first: less that before, less 1),
 *			ULEB share
 *
 * A string is a ULEB length and its bytes. Every stage stops at the first damage; what a reader gives after
 * that is zero, so that little is allocated before it is noticed.
 */

#include "profiles/store/profile.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "module/md5.h"
#include "profiles/store/profile_walk.h"

#define MAX_ESTIMATOR_BYTES 64u
#define MIN_FUNCTION_BYTES 16u /* what the columns take at least */
#define GUID_IS_OF_NAME 1u

enum count_state {
	COUNT_UNKNOWN = 0, /* 0, confidence 0 */
	COUNT_ZERO = 1,	   /* 0, with the common confidence */
	COUNT_RUNS = 2,
	COUNT_ZERO_OTHER = 3,
};

/* A count of anything must be finite and not negative. */
static double get_double(struct reader *in)
{
	const void *p = reader_bytes(in, sizeof(double));
	double v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	if (!(v >= 0 && v <= 0x1p200)) {
		in->bad = true;
		return 0;
	}
	return v;
}

static double get_float(struct reader *in)
{
	const void *p = reader_bytes(in, sizeof(float));
	float v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	if (!(v >= 0 && v <= 0x1p127f)) {
		in->bad = true;
		return 0;
	}
	return v;
}

/* NULL for an empty string. */
static int get_text(struct reader *in, size_t max, char **ret)
{
	size_t size;
	const char *s = reader_string(in, &size);

	if (!s || size == 0)
		return 0;
	if (size > max || memchr(s, 0, size)) {
		in->bad = true;
		return 0;
	}
	*ret = strndup(s, size);
	return *ret ? 0 : -ENOMEM;
}

static int get_header(struct reader *in, struct profile *profile, uint8_t *retcommon)
{
	size_t size;
	const char *id = reader_string(in, &size);

	if (size > BUILD_ID_MAX_BYTES) {
		in->bad = true;
		return 0;
	}
	profile->build_id.size = (uint8_t)size;
	if (id)
		memcpy(profile->build_id.bytes, id, size);
	if (get_text(in, PATH_MAX, &profile->path) < 0 ||
	    get_text(in, MAX_ESTIMATOR_BYTES, &profile->estimator) < 0)
		return -ENOMEM;
	profile->samples = get_double(in);
	profile->unmapped = get_double(in);
	profile->carried = get_double(in);
	profile->dropped = get_double(in);
	profile->scale = get_double(in);
	profile->first_ns = reader_uleb(in);
	profile->last_ns = reader_uleb(in);
	profile->activity_ns = reader_uleb(in);
	*retcommon = reader_u8(in);
	in->bad |= profile->carried > 1 || profile->scale < 1 || profile->scale >= 2;
	return 0;
}

static int get_names(struct reader *in, struct profile *profile)
{
	uint64_t n = reader_uleb(in);
	int r = 0;

	if (in->bad || n > reader_left(in) / MIN_FUNCTION_BYTES) {
		in->bad = true;
		return 0;
	}
	profile->functions = calloc(n + 1, sizeof(*profile->functions));
	if (!profile->functions)
		return -ENOMEM;
	profile->capacity = n + 1;
	while (profile->n_functions < n && !in->bad && r == 0)
		r = get_text(in, PROFILE_MAX_NAME_BYTES, &profile->functions[profile->n_functions++].name);
	return r;
}

static void get_guids(struct reader *in, struct profile *profile)
{
	struct profile_function *f = profile->functions;
	size_t n = profile->n_functions;
	const uint8_t *flags = reader_bytes(in, n);

	for (size_t i = 0; i < n && !in->bad; i++) {
		if (flags[i] & ~GUID_IS_OF_NAME || (flags[i] && !f[i].name))
			in->bad = true;
		else
			f[i].guid = flags[i] ? md5_guid(f[i].name, strlen(f[i].name)) : reader_u64(in);
		if (i && f[i].guid <= f[i - 1].guid)
			in->bad = true;
	}
}

static void get_fields(struct reader *in, struct profile *profile)
{
	struct profile_function *f = profile->functions;
	size_t n = profile->n_functions;

	for (size_t i = 0; i < n; i++)
		f[i].cfg_hash = reader_u64(in);
	for (size_t i = 0; i < n; i++)
		f[i].samples = get_float(in);
	for (size_t i = 0; i < n; i++)
		f[i].confidence = reader_u8(in);
}

/* Room for all counts. */
static int get_sizes(struct reader *in, struct profile *profile, uint64_t *rettotal)
{
	uint64_t total = 0;

	for (size_t i = 0; i < profile->n_functions && !in->bad; i++) {
		uint64_t n = reader_uleb(in);

		total += n;
		if (n > PROFILE_MAX_COUNTS || total > PROFILE_MAX_TOTAL_COUNTS || total / 4 > reader_left(in))
			in->bad = true;
		else if (profile_function_resize(&profile->functions[i], (uint32_t)n) < 0)
			return -ENOMEM;
	}
	*rettotal = total;
	return 0;
}

/*
 * Which of its values a count has is left in `executions` until the values are known: k for the
 * k-th new value of the function, from 1; 0: the count is 0. The confidence is the state till then.
 */
static void get_which(struct reader *in, struct profile *profile, const uint8_t *states)
{
	uint64_t at = 0;

	for (size_t i = 0; i < profile->n_functions && !in->bad; i++) {
		struct profile_function *f = &profile->functions[i];
		uint64_t n = 0;

		for (uint32_t j = 0; j < f->n_counts && !in->bad; j++, at++) {
			unsigned state = states[at / 4] >> (at % 4 * 2) & 3;
			uint64_t back = state == COUNT_RUNS ? reader_uleb(in) : 0;

			f->counts[j].confidence = (uint8_t)state;
			if (back > n)
				in->bad = true;
			else if (state == COUNT_RUNS)
				f->counts[j].executions = back ? n - back + 1 : ++n;
		}
	}
}

/* Replaces the numbers by the values; @scratch has room for those of the largest function. */
static void get_values(struct reader *in, struct profile *profile, uint64_t *scratch)
{
	for (size_t i = 0; i < profile->n_functions && !in->bad; i++) {
		struct profile_function *f = &profile->functions[i];
		uint64_t n = 0;

		for (uint32_t j = 0; j < f->n_counts && !in->bad; j++) {
			uint64_t number = f->counts[j].executions;

			if (!number)
				continue;
			if (number > n)
				scratch[n++] = reader_uleb(in);
			f->counts[j].executions = scratch[number - 1];
			in->bad |= !f->counts[j].executions;
		}
	}
}

static void get_certainty(struct reader *in, struct profile *profile, uint8_t common)
{
	for (size_t i = 0; i < profile->n_functions; i++)
		for (uint32_t j = 0; j < profile->functions[i].n_counts; j++) {
			uint8_t *confidence = &profile->functions[i].counts[j].confidence;

			if (*confidence & COUNT_RUNS)
				*confidence = reader_u8(in);
			else if (*confidence == COUNT_ZERO)
				*confidence = common;
		}
}

static int get_counts(struct reader *in, struct profile *profile, uint8_t common)
{
	_clean_(freep) uint64_t *scratch = NULL;
	const uint8_t *states;
	uint64_t total = 0;
	uint32_t most = 0;
	int r = get_sizes(in, profile, &total);

	states = reader_bytes(in, (total + 3) / 4);
	if (r < 0 || in->bad)
		return r;
	for (size_t i = 0; i < profile->n_functions; i++)
		most = MAX(most, profile->functions[i].n_counts);
	scratch = calloc((size_t)most + 1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	get_which(in, profile, states);
	get_values(in, profile, scratch);
	if (!in->bad)
		get_certainty(in, profile, common);
	return 0;
}

static int get_epoch(struct reader *in, const struct profile *profile, struct profile_epoch *epoch)
{
	uint64_t n, at = 0, sum = 0;

	epoch->first_ns = reader_uleb(in);
	epoch->last_ns = reader_uleb(in);
	epoch->samples = get_float(in);
	n = reader_uleb(in);
	if (n > PROFILE_MAX_SHARES) {
		in->bad = true;
		return 0;
	}
	epoch->shares = calloc(PROFILE_MAX_SHARES, sizeof(*epoch->shares));
	if (!epoch->shares)
		return -ENOMEM;
	for (uint64_t i = 0; i < n && !in->bad; i++, at++) {
		uint64_t step = reader_uleb(in), share = reader_uleb(in);

		sum += MIN(share, UINT16_MAX + 1u);
		if (step >= profile->n_functions || at + step >= profile->n_functions || sum > UINT16_MAX) {
			in->bad = true;
			return 0;
		}
		at += step;
		epoch->shares[epoch->n_shares++] =
			(struct profile_share){ profile->functions[at].guid, (uint16_t)share };
	}
	return 0;
}

static int get_epochs(struct reader *in, struct profile *profile)
{
	unsigned n = reader_u8(in);
	int r = 0;

	if (n > PROFILE_MAX_EPOCHS)
		in->bad = true;
	while (profile->n_epochs < n && !in->bad && r == 0)
		r = get_epoch(in, profile, &profile->epochs[profile->n_epochs++]);
	return r;
}

int profile_columns_read(struct reader *in, struct profile *profile)
{
	uint8_t common = 0;
	int r = get_header(in, profile, &common);

	if (r == 0)
		r = get_names(in, profile);
	if (r == 0 && !in->bad) {
		get_guids(in, profile);
		get_fields(in, profile);
	}
	if (r == 0 && !in->bad)
		r = get_counts(in, profile, common);
	if (r == 0 && !in->bad)
		r = get_epochs(in, profile);
	if (r < 0)
		return r;
	return in->bad || reader_left(in) ? -EBADMSG : 0;
}
