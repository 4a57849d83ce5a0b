/* SPDX-License-Identifier: Apache-2.0 */

/* The profile as bytes: profile_format.h. Functions of which nothing is known are left out. */

#include "profiles/profile.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/container.h"
#include "module/md5.h"
#include "profiles/profile_format.h"

#define LEVEL 9

/* A distinct count of one function. */
struct value {
	uint64_t value;
	uint32_t first;	  /* block that has it first */
	uint32_t ordinal; /* from 1, in the order of use; 0: not used yet */
};

/* The functions that are written, and scratch for the largest of them. */
struct selection {
	const struct profile_function **functions;
	size_t n;
	uint64_t n_counts;
	uint8_t common; /* confidence that most zero counts have */
	struct value *values;
	size_t n_values;
};

static void selection_done(struct selection *selection)
{
	free(selection->functions);
	free(selection->values);
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

/* The confidence above 0 that most zero counts have. */
static uint8_t common_confidence(const struct selection *selection)
{
	uint64_t n[256] = { 0 };
	unsigned best = 1;

	for (size_t i = 0; i < selection->n; i++) {
		const struct profile_function *f = selection->functions[i];

		for (uint32_t j = 0; j < f->n_counts; j++)
			n[f->counts[j].confidence] += !f->counts[j].executions;
	}
	for (unsigned c = 2; c < 256; c++)
		if (n[c] > n[best])
			best = c;
	return (uint8_t)best;
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
		ret->n_counts += f->n_counts;
		most = MAX(most, f->n_counts);
	}
	ret->common = common_confidence(ret);
	ret->values = calloc((size_t)most + 1, sizeof(*ret->values));
	return ret->values ? 0 : -ENOMEM;
}

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

static void put_header(const struct profile *profile, uint8_t common, struct buffer *out)
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
	buffer_u8(out, common);
}

static bool guid_is_of_name(const struct profile_function *f)
{
	return f->name && *f->name && md5_guid(f->name, strlen(f->name)) == f->guid;
}

static void put_identities(const struct selection *selection, struct buffer *out)
{
	const struct profile_function **f = selection->functions;

	for (size_t i = 0; i < selection->n; i++)
		put_text(out, f[i]->name);
	for (size_t i = 0; i < selection->n; i++)
		buffer_u8(out, guid_is_of_name(f[i]) ? PROFILE_GUID_IS_OF_NAME : 0);
	for (size_t i = 0; i < selection->n; i++)
		if (!guid_is_of_name(f[i]))
			buffer_u64(out, f[i]->guid);
	for (size_t i = 0; i < selection->n; i++)
		buffer_u64(out, f[i]->cfg_hash);
	for (size_t i = 0; i < selection->n; i++)
		put_float(out, f[i]->samples);
	for (size_t i = 0; i < selection->n; i++)
		buffer_u8(out, f[i]->confidence);
	for (size_t i = 0; i < selection->n; i++)
		buffer_uleb(out, f[i]->n_counts);
}

static enum count_state state_of(struct profile_count count, uint8_t common)
{
	if (count.executions)
		return COUNT_RUNS;
	if (!count.confidence)
		return COUNT_UNKNOWN;
	return count.confidence == common ? COUNT_ZERO : COUNT_ZERO_OTHER;
}

static void put_states(const struct selection *selection, struct buffer *out)
{
	unsigned byte = 0, n_bits = 0;

	for (size_t i = 0; i < selection->n; i++) {
		const struct profile_function *f = selection->functions[i];

		for (uint32_t j = 0; j < f->n_counts; j++) {
			byte |= (unsigned)state_of(f->counts[j], selection->common) << n_bits;
			n_bits += 2;
			if (n_bits == 8) {
				buffer_u8(out, (uint8_t)byte);
				byte = n_bits = 0;
			}
		}
	}
	if (n_bits)
		buffer_u8(out, (uint8_t)byte);
}

static int compare_values(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static int compare_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = ((const struct value *)b)->value;

	return (x > y) - (x < y);
}

/* The distinct counts above 0 of @f, in rising order, in selection->values. */
static void values_collect(struct selection *selection, const struct profile_function *f)
{
	struct value *values = selection->values;
	size_t n = 0, n_distinct = 0;

	for (uint32_t i = 0; i < f->n_counts; i++)
		if (f->counts[i].executions)
			values[n++] = (struct value){ f->counts[i].executions, i, 0 };
	qsort(values, n, sizeof(*values), compare_values);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || values[i].value != values[i - 1].value)
			values[n_distinct++] = values[i];
	selection->n_values = n_distinct;
}

/* Both columns of one function. */
static void put_counts(struct selection *selection, const struct profile_function *f,
		       struct buffer *which, struct buffer *values)
{
	uint32_t n = 0;

	values_collect(selection, f);
	for (uint32_t i = 0; i < f->n_counts; i++) {
		struct value *v = f->counts[i].executions
					  ? bsearch(&f->counts[i].executions, selection->values,
						    selection->n_values, sizeof(*v), compare_value)
					  : NULL;

		if (!v)
			continue;
		if (v->ordinal) {
			buffer_uleb(which, n - v->ordinal + 1);
			continue;
		}
		v->ordinal = ++n;
		buffer_uleb(which, 0);
		buffer_uleb(values, v->value);
	}
}

static void put_certainty(const struct selection *selection, struct buffer *out)
{
	for (size_t i = 0; i < selection->n; i++) {
		const struct profile_function *f = selection->functions[i];

		for (uint32_t j = 0; j < f->n_counts; j++)
			if (state_of(f->counts[j], selection->common) & COUNT_RUNS)
				buffer_u8(out, f->counts[j].confidence);
	}
}

static void put_functions(struct selection *selection, struct buffer *out)
{
	_clean_(buffer_donep) struct buffer values = { 0 };

	buffer_uleb(out, selection->n);
	put_identities(selection, out);
	put_states(selection, out);
	for (size_t i = 0; i < selection->n; i++)
		put_counts(selection, selection->functions[i], out, &values);
	buffer_bytes(out, values.data, values.size);
	out->bad |= values.bad;
	put_certainty(selection, out);
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
	if (selection.n_counts > PROFILE_MAX_TOTAL_COUNTS)
		return -EFBIG;
	put_header(profile, selection.common, &payload);
	put_functions(&selection, &payload);
	buffer_u8(&payload, (uint8_t)profile->n_epochs);
	for (size_t i = 0; i < profile->n_epochs; i++)
		put_epoch(&selection, &profile->epochs[i], &payload);
	if (payload.bad)
		return -ENOMEM;
	if (payload.size > PROFILE_MAX_PAYLOAD_BYTES)
		return -EFBIG;
	return container_pack(CONTAINER_PROFILE, PROFILE_VERSION, payload.data, payload.size, LEVEL,
			      retcontainer);
}
