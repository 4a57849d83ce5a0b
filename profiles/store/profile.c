/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The profile in memory: functions sorted by GUID, each with a flat array of counts. Merging builds
 * a new array of functions and swaps it in at the end, so that running out of memory changes
 * nothing.
 *
 * Ageing is forward decay: instead of multiplying every old count by the weight, which would round
 * thousands of times, new counts are multiplied by `scale`, which grows by 1 / weight. Only when
 * scale reaches 2 are all counts brought back to scale 1.
 */

#include "profiles/store/profile.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/search.h"
#include "profiles/store/history.h"
#include "profiles/store/seen.h"

struct profile *profile_new(void)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (profile)
		profile->scale = 1;
	return profile;
}

static void function_done(struct profile_function *function)
{
	free(function->name);
	free(function->counts);
}

static void functions_free(struct profile_function *functions, size_t n)
{
	for (size_t i = 0; i < n; i++)
		function_done(&functions[i]);
	free(functions);
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	functions_free(profile->functions, profile->n_functions);
	history_done(profile->epochs, profile->n_epochs);
	free(profile->seen);
	free(profile->path);
	free(profile->estimator);
	free(profile);
}

/* Index of the first function whose GUID is not below @guid. */
static size_t lower_bound(const struct profile *profile, uint64_t guid)
{
	return LOWER_BOUND(0, profile->n_functions, middle, profile->functions[middle].guid < guid);
}

const struct profile_function *profile_find(const struct profile *profile, uint64_t guid)
{
	size_t i = lower_bound(profile, guid);

	return i < profile->n_functions && profile->functions[i].guid == guid ? &profile->functions[i] : NULL;
}

static int functions_grow(struct profile *profile, size_t more)
{
	size_t need = profile->n_functions + more, capacity;
	struct profile_function *functions;

	if (need <= profile->capacity)
		return 0;
	capacity = MAX(MAX(need, profile->capacity * 2), 16u);
	functions = reallocarray(profile->functions, capacity, sizeof(*functions));
	if (!functions)
		return -ENOMEM;
	profile->functions = functions;
	profile->capacity = capacity;
	return 0;
}

struct profile_function *profile_function(struct profile *profile, uint64_t guid)
{
	size_t i = lower_bound(profile, guid);
	struct profile_function *at;

	if (i < profile->n_functions && profile->functions[i].guid == guid)
		return &profile->functions[i];
	if (functions_grow(profile, 1) < 0)
		return NULL;
	at = &profile->functions[i];
	memmove(at + 1, at, (profile->n_functions - i) * sizeof(*at));
	*at = (struct profile_function){ .guid = guid };
	profile->n_functions++;
	return at;
}

static int compare_functions(const void *a, const void *b)
{
	const struct profile_function *x = a, *y = b;

	return (x->guid > y->guid) - (x->guid < y->guid);
}

static int compare_guids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int profile_reserve(struct profile *profile, const uint64_t *guids, size_t n)
{
	_clean_(freep) uint64_t *sorted = n ? reallocarray(NULL, n, sizeof(*sorted)) : NULL;
	size_t n_old = profile->n_functions;

	if (!n)
		return 0;
	if (!sorted || functions_grow(profile, n) < 0)
		return -ENOMEM;
	memcpy(sorted, guids, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_guids);
	for (size_t i = 0, at = 0; i < n; i++) {
		if (i && sorted[i] == sorted[i - 1])
			continue;
		while (at < n_old && profile->functions[at].guid < sorted[i])
			at++;
		if (at == n_old || profile->functions[at].guid != sorted[i])
			profile->functions[profile->n_functions++] =
				(struct profile_function){ .guid = sorted[i] };
	}
	qsort(profile->functions, profile->n_functions, sizeof(*profile->functions), compare_functions);
	return 0;
}

int profile_function_resize(struct profile_function *function, uint32_t n_counts)
{
	struct profile_count *counts;

	if (n_counts <= function->n_counts)
		return 0;
	if (n_counts > PROFILE_MAX_COUNTS)
		return -E2BIG;
	counts = reallocarray(function->counts, n_counts, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	memset(counts + function->n_counts, 0, (n_counts - function->n_counts) * sizeof(*counts));
	function->counts = counts;
	function->n_counts = n_counts;
	return 0;
}

double profile_weight(uint64_t activity_ns, uint64_t half_life_ns)
{
	return half_life_ns ? exp2(-(double)activity_ns / (double)half_life_ns) : 1;
}

/* How the two sides of a merge come to one scale. */
struct blend {
	double weight;	 /* of the old side's samples */
	double scale;	 /* of the result */
	double old, new; /* factors for counts */
};

static struct blend blend_of(double weight, double old_scale, double new_scale)
{
	struct blend blend = { .weight = weight, .scale = weight > 0 ? old_scale / weight : 2, .old = 1 };

	if (!(blend.scale < 2)) {
		blend.scale = 1;
		blend.old = weight / old_scale;
	}
	blend.new = blend.scale / new_scale;
	return blend;
}

/* Halves round down, or a count of 1 would never age away. */
static uint64_t count_scale(uint64_t count, double factor)
{
	double scaled;

	if (factor == 1)
		return count;
	scaled = ceil((double)count * factor - 0.5);
	return scaled >= 0x1p64 ? UINT64_MAX : scaled > 0 ? (uint64_t)scaled : 0;
}

uint8_t profile_confidence(double error)
{
	return (uint8_t)fmax(1, 255 / (1 + fmax(error, 0)));
}

double profile_error(uint8_t confidence)
{
	return 255.0 / confidence - 1;
}

/*
 * Round to one of the two neighbours with the odds that keep the mean (a fixed hash is the die),
 * because a small merge moves a confidence by much less than 1, again and again.
 */
static uint8_t confidence_round(double error, uint64_t seed)
{
	double exact = 255 / (1 + error), floor_ = floor(exact);

	if (error == 0)
		return 255;
	seed *= 0x9e3779b97f4a7c15u; /* Fibonacci hashing (Knuth, vol. 3, section 6.4) */
	seed = (seed ^ seed >> 29) * 0xbf58476d1ce4e5b9u;
	if (exact - floor_ > (double)(seed >> 11) * 0x1p-53)
		floor_++;
	return (uint8_t)fmax(1, fmin(254, floor_));
}

/* Of the sum of two independent estimates @x and @y with confidences @a and @b. */
static uint8_t confidence_add(double x, uint8_t a, double y, uint8_t b, uint64_t seed)
{
	double ex = profile_error(MAX(a, 1)), ey = profile_error(MAX(b, 1));

	if (!b && y == 0)
		return a;
	if (!a && x == 0)
		return b;
	if (!a && !b)
		return 0;
	if (x + y == 0) /* twice not seen: as if it were one count with half the variance */
		return confidence_round(hypot(ex, ey) / 2, seed);
	return confidence_round(hypot(ex * x, ey * y) / (x + y), seed);
}

static struct profile_count count_merge(struct profile_count a, struct profile_count b,
					const struct blend *blend, uint64_t seed)
{
	uint64_t x = count_scale(a.executions, blend->old), y = count_scale(b.executions, blend->new);
	struct profile_count sum;

	if (__builtin_add_overflow(x, y, &sum.executions))
		sum.executions = UINT64_MAX;
	sum.confidence = confidence_add((double)x, a.confidence, (double)y, b.confidence, seed);
	return sum;
}

static int name_copy(char **ret, const char *name)
{
	if (!name)
		return 0;
	*ret = strdup(name);
	return *ret ? 0 : -ENOMEM;
}

static uint64_t double_bits(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

/* @a or @b may be an empty function with no counts, never both missing. */
static int function_merge(const struct profile_function *a, const struct profile_function *b,
			  const struct blend *blend, struct profile_function *ret)
{
	uint64_t seed = a->guid ^ double_bits(a->samples + b->samples);
	const struct profile_count none = { 0 };

	*ret = (struct profile_function){
		.guid = a->guid,
		.cfg_hash = a->cfg_hash ? a->cfg_hash : b->cfg_hash,
		.samples = a->samples * blend->weight + b->samples,
		.confidence = confidence_add(a->samples * blend->weight, a->confidence, b->samples,
					     b->confidence, seed),
	};
	if (name_copy(&ret->name, a->name ? a->name : b->name) < 0 ||
	    profile_function_resize(ret, MAX(a->n_counts, b->n_counts)) < 0) {
		free(TAKE(ret->name));
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < ret->n_counts; i++)
		ret->counts[i] = count_merge(i < a->n_counts ? a->counts[i] : none,
					     i < b->n_counts ? b->counts[i] : none, blend, seed + i);
	return 0;
}

static int functions_merge(const struct profile *a, const struct profile *b, const struct blend *blend,
			   struct profile *ret)
{
	size_t i = 0, j = 0;

	if (functions_grow(ret, a->n_functions + b->n_functions) < 0)
		return -ENOMEM;
	while (i < a->n_functions || j < b->n_functions) {
		const struct profile_function *x = i < a->n_functions ? &a->functions[i] : NULL;
		const struct profile_function *y = j < b->n_functions ? &b->functions[j] : NULL;
		bool old = x && (!y || x->guid <= y->guid), new = y && (!x || y->guid <= x->guid);
		const struct profile_function empty = { .guid = old ? x->guid : y->guid };

		if (function_merge(old ? x : &empty, new ? y : &empty, blend,
				   &ret->functions[ret->n_functions]) < 0)
			return -ENOMEM;
		ret->n_functions++;
		i += old;
		j += new;
	}
	return 0;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static void totals_merge(const struct profile *a, const struct profile *b, const struct blend *blend,
			 struct profile *ret)
{
	double old = a->samples * blend->weight;

	ret->build_id = a->build_id.size ? a->build_id : b->build_id;
	ret->scale = blend->scale;
	ret->samples = old + b->samples;
	ret->unmapped = a->unmapped * blend->weight + b->unmapped;
	ret->carried = ret->samples > 0 ? (a->carried * old + b->carried * b->samples) / ret->samples : 0;
	ret->dropped = a->dropped * blend->weight + b->dropped;
	ret->first_ns =
		a->first_ns && b->first_ns ? MIN(a->first_ns, b->first_ns) : a->first_ns + b->first_ns;
	ret->last_ns = MAX(a->last_ns, b->last_ns);
	ret->activity_ns = add_saturating(a->activity_ns, b->activity_ns);
}

static bool is_fresh(const struct profile *profile)
{
	return !profile->build_id.size && !profile->n_functions;
}

static bool is_exact(const struct profile *profile)
{
	return strcmp(profile->estimator, "exact") == 0;
}

static int merge_check(const struct profile *into, const struct profile *from, struct fault *reterr)
{
	char a[BUILD_ID_MAX_TEXT], b[BUILD_ID_MAX_TEXT];

	if (!is_fresh(into) && !build_id_is_equal(&into->build_id, &from->build_id))
		return fault_set(reterr, -EXDEV,
				 "profiles of different builds (%s and %s) cannot be added; "
				 "`morph profile carry` takes over what is unchanged",
				 build_id_text(&into->build_id, a), build_id_text(&from->build_id, b));
	if (into->n_functions && from->n_functions && into->estimator && from->estimator &&
	    is_exact(into) != is_exact(from))
		return fault_set(reterr, -EXDEV,
				 "exact counts and counts from samples have different units and "
				 "cannot be added");
	return 0;
}

int profile_merge(struct profile *into, double weight, const struct profile *from, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *sum = profile_new();
	struct blend blend = blend_of(fmin(fmax(weight, 0), 1), into->scale, from->scale);
	int r = merge_check(into, from, reterr);
	struct profile old;

	if (r < 0)
		return r;
	if (!sum || functions_merge(into, from, &blend, sum) < 0 ||
	    history_merge(into, blend.weight, from, sum) < 0 ||
	    seen_merge(into, blend.weight, from, sum) < 0 ||
	    name_copy(&sum->path, from->path ? from->path : into->path) < 0 ||
	    name_copy(&sum->estimator, from->estimator ? from->estimator : into->estimator) < 0)
		return fault_set(reterr, -ENOMEM, "no memory to merge a profile of %zu functions",
				 from->n_functions);
	totals_merge(into, from, &blend, sum);
	old = *into;
	*into = *sum;
	*sum = old;
	return 0;
}
