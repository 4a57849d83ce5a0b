/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The profile as bytes (docs/format-profile.md). The payload is a header and then columns: the same
 * field of all functions stands together, which is what deflate likes.
 *
 *	payload		header, functions, epochs
 *	header		build ID (string), path (string), estimator (string), samples, unmapped,
 * carried, dropped, scale (5 doubles), first, last, activity (3 ULEB, ns) functions	n (ULEB),
 * then for each column, for each function: guid		ULEB difference to the GUID before,
 * at least 1 except for the first cfg hash	u64 name		string, empty: unknown
 *	  samples	float
 *	  confidence	u8
 *	  n counts	ULEB
 *	  values	n (ULEB), then the distinct non-zero counts in rising order, as ULEB
 * differences which		per count a ULEB: 0, or the number of its value, from 1 certainty
 *	per count its confidence, u8 epochs		n (u8), each: first, last (ULEB, ns),
 * samples (float), n shares (ULEB), each: ULEB function number less that before, less 1 (the first:
 * as it is), ULEB share
 *
 * A string is a ULEB length and its bytes. Functions of which nothing is known are left out.
 */

#include "profiles/profile.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/container.h"
#include "base/file.h"
#include "profiles/history.h"

#define MAX_PAYLOAD_BYTES (64u << 20) /* more than any program needs: a decompression bomb */
#define MIN_FUNCTION_BYTES 17u        /* one byte or more in every column */
#define LEVEL 9

static void put_double(struct buffer *out, double v)
{
	buffer_bytes(out, &v, sizeof(v));
}

static void put_float(struct buffer *out, double v)
{
	float f = (float)fmin(v, 0x1p127);

	buffer_bytes(out, &f, sizeof(f));
}

static void put_text(struct buffer *out, const char *s)
{
	buffer_string(out, s ? s : "", s ? strlen(s) : 0);
}

static void put_header(const struct profile *profile, struct buffer *out)
{
	buffer_string(out, (const char *)profile->build_id.bytes, profile->build_id.size);
	put_text(out, profile->path);
	put_text(out, profile->estimator);
	put_double(out, profile->samples);
	put_double(out, profile->unmapped);
	put_double(out, profile->carried);
	put_double(out, profile->dropped);
	put_double(out, profile->scale);
	buffer_uleb(out, profile->first_ns);
	buffer_uleb(out, profile->last_ns);
	buffer_uleb(out, profile->activity_ns);
}

static bool is_known(const struct profile_function *function)
{
	if (function->samples > 0 || function->confidence)
		return true;
	for (uint32_t i = 0; i < function->n_counts; i++)
		if (function->counts[i].executions || function->counts[i].confidence)
			return true;
	return false;
}

/* The functions that are written, and room for one function's values. */
struct selection {
	const struct profile_function **functions;
	size_t n;
	uint64_t *values;
	size_t n_values;
};

static void selection_done(struct selection *selection)
{
	free(selection->functions);
	free(selection->values);
}

static int selection_make(const struct profile *profile, struct selection *ret)
{
	uint32_t most = 0;

	ret->functions = calloc(profile->n_functions + 1, sizeof(struct profile_function *));
	if (!ret->functions)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_functions; i++) {
		const struct profile_function *f = &profile->functions[i];

		if (!is_known(f))
			continue;
		ret->functions[ret->n++] = f;
		most = MAX(most, f->n_counts);
	}
	ret->values = calloc((size_t)most + 1, sizeof(*ret->values));
	return ret->values ? 0 : -ENOMEM;
}

static int compare_values(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The distinct non-zero counts of @f, in rising order, in selection->values. */
static void values_collect(struct selection *selection, const struct profile_function *f)
{
	uint64_t *values = selection->values;
	size_t n = 0, n_distinct = 0;

	for (uint32_t i = 0; i < f->n_counts; i++)
		if (f->counts[i].executions)
			values[n++] = f->counts[i].executions;
	qsort(values, n, sizeof(*values), compare_values);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || values[i] != values[i - 1])
			values[n_distinct++] = values[i];
	selection->n_values = n_distinct;
}

static void put_values(struct selection *selection, const struct profile_function *f,
		       struct buffer *out)
{
	values_collect(selection, f);
	buffer_uleb(out, selection->n_values);
	for (size_t i = 0; i < selection->n_values; i++)
		buffer_uleb(out, selection->values[i] - (i ? selection->values[i - 1] : 0));
}

static void put_which(struct selection *selection, const struct profile_function *f,
		      struct buffer *out)
{
	values_collect(selection, f);
	for (uint32_t i = 0; i < f->n_counts; i++) {
		const uint64_t *v =
			f->counts[i].executions
				? bsearch(&f->counts[i].executions, selection->values,
					  selection->n_values, sizeof(*v), compare_values)
				: NULL;

		buffer_uleb(out, v ? (uint64_t)(v - selection->values) + 1 : 0);
	}
}

static void put_functions(struct selection *selection, struct buffer *out)
{
	const struct profile_function **f = selection->functions;
	size_t n = selection->n;

	buffer_uleb(out, n);
	for (size_t i = 0; i < n; i++)
		buffer_uleb(out, f[i]->guid - (i ? f[i - 1]->guid : 0));
	for (size_t i = 0; i < n; i++)
		buffer_u64(out, f[i]->cfg_hash);
	for (size_t i = 0; i < n; i++)
		put_text(out, f[i]->name);
	for (size_t i = 0; i < n; i++)
		put_float(out, f[i]->samples);
	for (size_t i = 0; i < n; i++)
		buffer_u8(out, f[i]->confidence);
	for (size_t i = 0; i < n; i++)
		buffer_uleb(out, f[i]->n_counts);
	for (size_t i = 0; i < n; i++)
		put_values(selection, f[i], out);
	for (size_t i = 0; i < n; i++)
		put_which(selection, f[i], out);
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < f[i]->n_counts; j++)
			buffer_u8(out, f[i]->counts[j].confidence);
}

/* Number of the function in the file, or selection->n. */
static size_t selection_find(const struct selection *selection, uint64_t guid)
{
	size_t low = 0, high = selection->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (selection->functions[middle]->guid < guid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < selection->n && selection->functions[low]->guid == guid ? low : selection->n;
}

static void put_epoch(const struct selection *selection, const struct profile_epoch *epoch,
		      struct buffer *out)
{
	size_t n = 0, next = 0;

	for (size_t i = 0; i < epoch->n_shares; i++)
		n += selection_find(selection, epoch->shares[i].guid) < selection->n;
	buffer_uleb(out, epoch->first_ns);
	buffer_uleb(out, epoch->last_ns);
	put_float(out, epoch->samples);
	buffer_uleb(out, n);
	for (size_t i = 0; i < epoch->n_shares; i++) {
		size_t at = selection_find(selection, epoch->shares[i].guid);

		if (at == selection->n)
			continue;
		buffer_uleb(out, at - next);
		buffer_uleb(out, epoch->shares[i].share);
		next = at + 1;
	}
}

int profile_encode(const struct profile *profile, struct buffer *retcontainer)
{
	_clean_(buffer_donep) struct buffer payload = { 0 };
	_clean_(selection_done) struct selection selection = { 0 };

	if (selection_make(profile, &selection) < 0)
		return -ENOMEM;
	put_header(profile, &payload);
	put_functions(&selection, &payload);
	buffer_u8(&payload, (uint8_t)profile->n_epochs);
	for (size_t i = 0; i < profile->n_epochs; i++)
		put_epoch(&selection, &profile->epochs[i], &payload);
	if (payload.bad)
		return -ENOMEM;
	if (payload.size > MAX_PAYLOAD_BYTES)
		return -EFBIG;
	return container_pack(CONTAINER_PROFILE, PROFILE_VERSION, payload.data, payload.size, LEVEL,
			      retcontainer);
}

/* Foreign: a count of anything must be finite and not negative. */
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

static int get_header(struct reader *in, struct profile *profile)
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
	if (get_text(in, PATH_MAX, &profile->path) < 0 || get_text(in, 64, &profile->estimator) < 0)
		return -ENOMEM;
	profile->samples = get_double(in);
	profile->unmapped = get_double(in);
	profile->carried = get_double(in);
	profile->dropped = get_double(in);
	profile->scale = get_double(in);
	profile->first_ns = reader_uleb(in);
	profile->last_ns = reader_uleb(in);
	profile->activity_ns = reader_uleb(in);
	in->bad |= profile->carried > 1 || profile->scale < 1 || profile->scale >= 2;
	return 0;
}

static int get_guids(struct reader *in, struct profile *profile)
{
	uint64_t n = reader_uleb(in), guid = 0;

	if (n > reader_left(in) / MIN_FUNCTION_BYTES) {
		in->bad = true;
		return 0;
	}
	profile->functions = calloc(n + 1, sizeof(*profile->functions));
	if (!profile->functions)
		return -ENOMEM;
	profile->capacity = n + 1;
	for (; profile->n_functions < n && !in->bad; profile->n_functions++) {
		uint64_t step = reader_uleb(in);

		if ((profile->n_functions && !step) || __builtin_add_overflow(guid, step, &guid))
			in->bad = true;
		profile->functions[profile->n_functions].guid = guid;
	}
	return 0;
}

static int get_function_fields(struct reader *in, struct profile *profile)
{
	struct profile_function *f = profile->functions;
	size_t n = profile->n_functions;

	for (size_t i = 0; i < n; i++)
		f[i].cfg_hash = reader_u64(in);
	for (size_t i = 0; i < n; i++)
		if (get_text(in, 1u << 20, &f[i].name) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		f[i].samples = get_float(in);
	for (size_t i = 0; i < n; i++)
		f[i].confidence = reader_u8(in);
	return 0;
}

/* Room for all counts; each takes at least two of the bytes that are left. */
static int get_sizes(struct reader *in, struct profile *profile)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->n_functions && !in->bad; i++) {
		uint64_t n = reader_uleb(in);

		sum += n;
		if (n > PROFILE_MAX_COUNTS || sum > reader_left(in) / 2)
			in->bad = true;
		else if (profile_function_resize(&profile->functions[i], (uint32_t)n) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The distinct values of all functions, one after the other. */
struct values {
	uint64_t *at; /* owned */
	size_t n, capacity;
};

static void values_done(struct values *values)
{
	free(values->at);
}

static int get_values(struct reader *in, const struct profile *profile, size_t *ret_first,
		      struct values *values)
{
	for (size_t i = 0; i < profile->n_functions; i++) {
		uint64_t n = reader_uleb(in), value = 0;

		ret_first[i] = values->n;
		if (n > profile->functions[i].n_counts)
			in->bad = true;
		for (uint64_t j = 0; j < n && !in->bad; j++) {
			uint64_t step = reader_uleb(in);

			if (!step || __builtin_add_overflow(value, step, &value))
				in->bad = true;
			if (values->n == values->capacity) {
				size_t capacity = MAX(values->capacity * 2, 256u);
				uint64_t *at = reallocarray(values->at, capacity, sizeof(*at));

				if (!at)
					return -ENOMEM;
				values->at = at;
				values->capacity = capacity;
			}
			values->at[values->n++] = value;
		}
	}
	ret_first[profile->n_functions] = values->n;
	return 0;
}

static int get_counts(struct reader *in, struct profile *profile)
{
	_clean_(values_done) struct values values = { 0 };
	_clean_(freep) size_t *first = calloc(profile->n_functions + 1, sizeof(*first));

	if (!first || get_values(in, profile, first, &values) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_functions && !in->bad; i++)
		for (uint32_t j = 0; j < profile->functions[i].n_counts; j++) {
			uint64_t which = reader_uleb(in);

			if (which > first[i + 1] - first[i])
				in->bad = true;
			else if (which)
				profile->functions[i].counts[j].executions =
					values.at[first[i] + which - 1];
		}
	for (size_t i = 0; i < profile->n_functions && !in->bad; i++)
		for (uint32_t j = 0; j < profile->functions[i].n_counts; j++)
			profile->functions[i].counts[j].confidence = reader_u8(in);
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
		if (step >= profile->n_functions || at + step >= profile->n_functions ||
		    sum > UINT16_MAX) {
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

/* Stages stop at the first damage: what follows one that is bad reads zeros and allocates little.
 */
static int payload_decode(struct reader *in, struct profile *profile)
{
	static int (*const stages[])(struct reader *, struct profile *) = {
		get_header, get_guids, get_function_fields, get_sizes, get_counts, get_epochs,
	};

	for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
		int r = stages[i](in, profile);

		if (r < 0)
			return r;
		if (in->bad)
			return -EBADMSG;
	}
	return reader_left(in) ? -EBADMSG : 0;
}

int profile_decode(const void *container, size_t size, struct profile **ret, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer payload = { 0 };
	_clean_(profile_freep) struct profile *profile = profile_new();
	struct reader in;
	int r;

	if (!profile)
		return fault_errno(reterr, -ENOMEM, "profile");
	r = container_unpack_limited(container, size, CONTAINER_PROFILE, PROFILE_VERSION,
				     MAX_PAYLOAD_BYTES, &payload, reterr);
	if (r < 0)
		return r;
	in = reader_of(payload.data, payload.size);
	r = payload_decode(&in, profile);
	if (r == -EBADMSG)
		return fault_set(reterr, r,
				 "damaged: the profile makes no sense at byte %zu of its payload",
				 reader_offset(&in));
	if (r < 0)
		return fault_errno(reterr, r, "profile");
	*ret = TAKE(profile);
	return 0;
}

int profile_read(const char *path, struct profile **ret, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_open(path, &map, reterr);

	if (r < 0)
		return r;
	r = profile_decode(map.data, map.size, ret, reterr);
	return r < 0 ? fault_prefix(reterr, r, "%s", path) : 0;
}

int profile_write(const struct profile *profile, const char *path, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	int r = profile_encode(profile, &bytes);

	if (r < 0)
		return fault_errno(reterr, r, "%s: cannot encode the profile", path);
	return file_write(path, bytes.data, bytes.size, 0644, reterr);
}

bool profile_is_damaged(int code)
{
	return code == -EBADMSG || code == -EPROTONOSUPPORT || code == -EXDEV;
}

int profile_quarantine(const char *path, const struct fault *fault, struct fault *reterr)
{
	char bad[PATH_MAX], reason[PATH_MAX], text[sizeof(fault->text) + 2];
	int n;

	if (snprintf(bad, sizeof(bad), "%s.bad", path) >= (int)sizeof(bad) ||
	    snprintf(reason, sizeof(reason), "%s.bad.reason", path) >= (int)sizeof(reason))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", path);
	if (rename(path, bad) < 0)
		return fault_errno(reterr, -errno, "%s: cannot set it aside as %s", path, bad);
	n = snprintf(text, sizeof(text), "%s\n", fault->text);
	return file_write(reason, text, (size_t)n, 0644, reterr);
}
