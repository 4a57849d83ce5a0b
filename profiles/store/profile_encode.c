/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The profile as bytes: what is known is copied, rounded and put into the order of names, and profile_walk()
 * writes that.
 *
 * Counts, confidences and samples of functions become one of their two neighbours that can be written, with the
 * odds that keep the mean, or a profile to which little is added again and again would stop to learn. The die is a
 * hash: equal counts of a function stay equal, and the same profile gives the same bytes. What was read is
 * written as it is.
 */

#include "profiles/store/profile.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/container.h"
#include "profiles/store/profile_walk.h"

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u; /* Steele, Lea, Flood (OOPSLA 2014) */
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Another die for every state of a profile. */
static uint64_t die_of(const struct profile *profile)
{
	uint64_t bits;

	memcpy(&bits, &profile->samples, sizeof(bits));
	return mix(mix(bits ^ profile->last_ns) ^ profile->activity_ns);
}

static uint64_t count_round(uint64_t count, unsigned digits, uint64_t die)
{
	unsigned length = bit_length(count), drop = length > digits ? length - digits : 0;
	uint64_t rest, high = count >> drop;

	if (!drop)
		return count;
	rest = count - (high << drop);
	if (mix(die ^ count) >> (64 - drop) < rest && !(length == 64 && high + 1 == (uint64_t)1 << digits))
		high++;
	return high << drop;
}

/* All of one confidence become the same: their bits would cost more than they say. */
static void levels_make(uint64_t die, uint8_t ret[256])
{
	for (unsigned level = 0; level + 1 < PROFILE_LEVELS; level++) {
		unsigned low = profile_levels[level], high = profile_levels[level + 1];

		ret[low] = (uint8_t)low;
		ret[high] = (uint8_t)high;
		for (unsigned c = low + 1; c < high; c++) {
			bool up = mix(die + c) % (high - low) < c - low;

			/* Only what is exact says so, and only what is unknown. */
			ret[c] = (uint8_t)((up && high < 255) || low == 0 ? high : low);
		}
	}
}

static double samples_round(double samples, uint64_t die)
{
	double units = fmin(samples * PROFILE_SAMPLE_UNITS, (double)PROFILE_MAX_UNITS), whole = floor(units);

	if (units - whole > (double)(mix(die) >> 11) * 0x1p-53)
		whole++;
	return whole / PROFILE_SAMPLE_UNITS;
}

static unsigned digits_of(uint8_t confidence)
{
	unsigned level = 0;

	while (profile_levels[level] < confidence)
		level++;
	return profile_digits(level);
}

/* @to borrows the name. */
static int function_round(const struct profile_function *from, uint64_t die, const uint8_t levels[256],
			  struct profile_function *to)
{
	*to = *from;
	to->counts = NULL;
	to->n_counts = 0;
	if (profile_function_resize(to, from->n_counts) < 0)
		return -ENOMEM;
	to->name = from->name && *from->name ? from->name : NULL;
	to->samples = samples_round(from->samples, die);
	for (uint32_t i = 0; i < from->n_counts; i++) {
		struct profile_count c = from->counts[i];

		to->counts[i].confidence = levels[c.confidence];
		to->counts[i].executions = count_round(c.executions, digits_of(levels[c.confidence]), die);
	}
	return 0;
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

static int compare_names(const void *a, const void *b)
{
	const struct profile_function *x = a, *y = b;
	int order = strcmp(x->name ? x->name : "", y->name ? y->name : "");

	return order ? order : (x->guid > y->guid) - (x->guid < y->guid);
}

/* A profile of which everything but functions and counts is borrowed. */
static void rounded_done(struct profile *rounded)
{
	for (size_t i = 0; i < rounded->n_functions; i++)
		free(rounded->functions[i].counts);
	free(rounded->functions);
	for (size_t i = 0; i < rounded->n_epochs; i++)
		free(rounded->epochs[i].shares);
}

static bool has_guid(const struct profile *profile, uint64_t guid)
{
	for (size_t i = 0; i < profile->n_functions; i++)
		if (profile->functions[i].guid == guid)
			return true;
	return false;
}

/* The shares of functions that are written. */
static int epoch_copy(const struct profile_epoch *from, const struct profile *rounded,
		      struct profile_epoch *to)
{
	*to = *from;
	to->n_shares = 0;
	to->shares = calloc(from->n_shares + 1, sizeof(*to->shares));
	if (!to->shares)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_shares; i++)
		if (has_guid(rounded, from->shares[i].guid))
			to->shares[to->n_shares++] = from->shares[i];
	return 0;
}

static int profile_round(const struct profile *profile, struct profile *ret)
{
	uint64_t die = die_of(profile), n_counts = 0;
	uint8_t levels[256];
	int r = 0;

	*ret = *profile;
	ret->n_functions = ret->n_epochs = 0;
	ret->functions = calloc(profile->n_functions + 1, sizeof(*ret->functions));
	if (!ret->functions)
		return -ENOMEM;
	levels_make(die, levels);
	for (size_t i = 0; i < profile->n_functions && r == 0; i++) {
		const struct profile_function *from = &profile->functions[i];
		struct profile_function *to = &ret->functions[ret->n_functions];

		if (!is_known(from))
			continue;
		r = function_round(from, mix(die ^ from->guid), levels, to);
		if (r == 0 && is_known(to)) {
			ret->n_functions++;
			n_counts += to->n_counts;
		} else {
			free(TAKE(to->counts));
		}
	}
	if (r == 0 && n_counts > PROFILE_MAX_TOTAL_COUNTS)
		return -EFBIG;
	qsort(ret->functions, ret->n_functions, sizeof(*ret->functions), compare_names);
	for (size_t i = 0; i < profile->n_epochs && r == 0; i++, ret->n_epochs++)
		r = epoch_copy(&profile->epochs[i], ret, &ret->epochs[i]);
	return r;
}

int profile_encode(const struct profile *profile, struct buffer *retcontainer)
{
	_clean_(rounded_done) struct profile rounded = { 0 };
	_clean_(buffer_donep) struct buffer payload = { 0 };
	const unsigned version = profile->n_seen ? PROFILE_VERSION_SEEN : PROFILE_VERSION;
	struct range_coder coder;
	int r = profile_round(profile, &rounded);

	if (r < 0)
		return r;
	range_coder_encode(&coder);
	r = profile_walk(&coder, version, &rounded);
	if (range_coder_end(&coder, &payload) < 0 || r < 0)
		return -ENOMEM;
	if (payload.size > PROFILE_MAX_PAYLOAD_BYTES)
		return -EFBIG;
	return container_pack(CONTAINER_PROFILE, version, payload.data, payload.size, 0, retcontainer);
}
