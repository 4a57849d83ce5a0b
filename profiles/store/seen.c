/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/store/seen.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"

#define COUNT_MAX (1ull << 40) /* of a place; so all of them are less than 2^60 */

int seen_place(struct profile *profile, uint64_t from, uint64_t to, uint64_t count)
{
	/* Room doubles: a power of two that is full. */
	if (!(profile->n_seen & (profile->n_seen - 1))) {
		size_t room = profile->n_seen ? 2 * profile->n_seen : 1;
		struct profile_seen *more = reallocarray(profile->seen, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		profile->seen = more;
	}
	if (profile->n_seen >= PROFILE_MAX_SEEN)
		return -E2BIG;
	profile->seen[profile->n_seen++] = (struct profile_seen){ from, to, count };
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct profile_seen *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

void seen_sort(struct profile *profile)
{
	struct profile_seen *seen = profile->seen;
	size_t n = 0;

	if (profile->n_seen)
		qsort(seen, profile->n_seen, sizeof(*seen), compare);
	for (size_t i = 0; i < profile->n_seen; i++) {
		if (!seen[i].count)
			continue;
		if (n && compare(&seen[n - 1], &seen[i]) == 0)
			seen[n - 1].count = MIN(seen[n - 1].count + MIN(seen[i].count, COUNT_MAX), COUNT_MAX);
		else
			seen[n++] = (struct profile_seen){ seen[i].from, seen[i].to,
							   MIN(seen[i].count, COUNT_MAX) };
	}
	profile->n_seen = n;
}

/* All of both, in a new array of @ret; the first ones times @weight. */
static int both(const struct profile *a, double weight, const struct profile *b, struct profile *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->n_seen; i++)
		r = seen_place(ret, a->seen[i].from, a->seen[i].to,
			       (uint64_t)((double)a->seen[i].count * weight + 0.5));
	for (size_t i = 0; r == 0 && i < b->n_seen; i++)
		r = seen_place(ret, b->seen[i].from, b->seen[i].to, b->seen[i].count);
	seen_sort(ret);
	return r;
}

int seen_merge(const struct profile *into, double weight, const struct profile *from, struct profile *ret)
{
	return both(into, weight, from, ret);
}

int seen_add(struct profile *profile, const struct sample_module *module)
{
	struct profile news = { 0 }, sum = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < module->n_counts; i++)
		r = seen_place(&news, module->counts[i].offset, PROFILE_SEEN_SAMPLE, module->counts[i].count);
	for (size_t i = 0; r == 0 && i < module->n_branches && !module->branches_one_way; i++)
		r = seen_place(&news, module->branches[i].from, module->branches[i].to,
			       module->branches[i].count);
	if (r == 0)
		r = both(profile, 1, &news, &sum);
	free(news.seen);
	if (r < 0) {
		free(sum.seen);
		return r;
	}
	free(profile->seen);
	profile->seen = sum.seen;
	profile->n_seen = sum.n_seen;
	return 0;
}

int seen_log(const struct profile *profile, struct sample_log **ret)
{
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	struct sample_module *module =
		log ? sample_log_module(log, SAMPLE_MODULE_FILE, &profile->build_id, "", 0, 0) : NULL;
	int r = module ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < profile->n_seen; i++) {
		const struct profile_seen *seen = &profile->seen[i];

		r = seen->to == PROFILE_SEEN_SAMPLE ?
			    sample_module_add(module, seen->from, seen->count) :
			    sample_module_add_branch(module, seen->from, seen->to, seen->count);
	}
	if (r < 0)
		return r;
	log->source = SAMPLE_SOURCE_CPU_CLOCK;
	sample_log_normalize(log);
	*ret = TAKE(log);
	return 0;
}

int seen_none(const struct profile *profile, const char *path, struct fault *reterr)
{
	if (!profile->n_seen)
		return 0;
	return fault_set(
		reterr, -EINVAL,
		"%s: has %.0f samples from which no counts were estimated; `morph profile prior %s PROGRAM` "
		"does",
		SHOWN(path), seen_samples(profile), SHOWN(path));
}

double seen_samples(const struct profile *profile)
{
	double ret = 0;

	for (size_t i = 0; i < profile->n_seen; i++)
		if (profile->seen[i].to == PROFILE_SEEN_SAMPLE)
			ret += (double)profile->seen[i].count;
	return ret;
}

bool seen_makes_sense(const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_seen; i++) {
		const struct profile_seen *seen = &profile->seen[i];

		if (!seen->count || seen->count > COUNT_MAX || (i && compare(seen - 1, seen) >= 0))
			return false;
	}
	return true;
}
