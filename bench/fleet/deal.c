/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Machines that use a program alike: each has some of the samples that one had, drawn without putting back, so that what all
 * of them saw is what the one saw. Their profiles are then `morph profile`'s own work.
 */

#include "bench/fleet/fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "module/image.h"
#include "profiles/samples/sample_log.h"
#include "profiles/store/profile.h"

struct deal {
	const struct sample_log *log;	    /* borrowed */
	const struct sample_module *module; /* borrowed: what is dealt */
	const char *prefix;
	size_t n, samples; /* logs, and of each */
	struct stats_random random;
};

static int log_begin(const struct deal *d, struct sample_log **ret, struct sample_module **retmodule)
{
	*ret = sample_log_new();
	if (!*ret)
		return -ENOMEM;
	(*ret)->source = d->log->source;
	(*ret)->rate_hz = d->log->rate_hz;
	(*ret)->start_ns = d->log->start_ns;
	(*ret)->n_cpus = d->log->n_cpus;
	(*ret)->duration_ns = d->log->duration_ns * d->samples / d->module->total;
	*retmodule = sample_log_module_like(*ret, d->module);
	return *retmodule ? 0 : -ENOMEM;
}

/* Which of the module's places each of its samples is at, in an order drawn at random. */
static size_t *samples_shuffled(struct deal *d)
{
	size_t *order = calloc(d->module->total, sizeof(*order)),
	       *ret = calloc(d->module->total, sizeof(*ret));
	size_t at = 0;

	if (order && ret) {
		stats_shuffle(&d->random, order, d->module->total);
		for (size_t i = 0; i < d->module->n_counts; i++)
			for (uint64_t j = 0; j < d->module->counts[i].count; j++)
				ret[order[at++]] = i;
	} else {
		free(ret);
		ret = NULL;
	}
	free(order);
	return ret;
}

/* The jumps that one of the logs saw: each is in it with the odds of a sample. */
static int branches_draw(struct deal *d, struct sample_module *to)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < d->module->n_branches; i++) {
		const struct sample_branch *b = &d->module->branches[i];
		uint64_t kept = 0;

		for (uint64_t j = 0; j < b->count; j++)
			kept += stats_random_below(&d->random, d->module->total) < d->samples;
		if (kept)
			r = sample_module_add_branch(to, b->from, b->to, kept);
	}
	return r;
}

static int log_deal(struct deal *d, const size_t *places, size_t number, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct sample_module *to;
	char path[4096];
	int r = log_begin(d, &log, &to);

	for (size_t i = 0; r == 0 && i < d->samples; i++)
		r = sample_module_add(to, d->module->counts[places[number * d->samples + i]].offset, 1);
	if (r == 0)
		r = branches_draw(d, to);
	if (r < 0)
		return fault_errno(reterr, r, "%s", d->prefix);
	sample_log_normalize(log);
	sample_log_balance(log);
	snprintf(path, sizeof(path), "%s-%zu.samples", d->prefix, number);
	return sample_log_write(log, path, reterr);
}

int fleet_deal(int argc, char **argv, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	_clean_(image_freep) struct image *image = NULL;
	_clean_(freep) size_t *places = NULL;
	struct deal d = { .random = { 88172645463325252u } };
	int r;

	if (argc != 7)
		return fault_set(reterr, -EINVAL, "deal PROGRAM LOG PREFIX NUMBER SAMPLES");
	r = image_open(argv[2], &image, reterr);
	if (r == 0)
		r = sample_log_read(argv[3], &log, reterr);
	if (r < 0)
		return r;
	sample_log_unite(log);
	d.log = log;
	d.module = sample_log_find(log, image_build_id(image));
	d.prefix = argv[4];
	d.n = strtoul(argv[5], NULL, 10);
	d.samples = strtoul(argv[6], NULL, 10);
	if (!d.module || !d.n || !d.samples || d.module->total / d.samples < d.n)
		return fault_set(reterr, -ENODATA, "%s: has not %zu times %zu samples of %s", argv[3], d.n,
				 d.samples, argv[2]);
	places = samples_shuffled(&d);
	if (!places)
		return fault_errno(reterr, -ENOMEM, "%s", argv[3]);
	for (size_t i = 0; r == 0 && i < d.n; i++)
		r = log_deal(&d, places, i, reterr);
	return r;
}

/* ---- many modules out of a few programs ---- */

void fleet_module_id(size_t module, struct build_id *ret)
{
	*ret = (struct build_id){ .size = 20, .bytes = { 0xf1, 0xee, 0x70 } };
	for (size_t i = 0; i < sizeof(module); i++)
		ret->bytes[12 + i] = (uint8_t)(module >> 8 * i);
}

int fleet_modules(int argc, char **argv, struct fault *reterr)
{
	size_t first = argc > 6 ? strtoul(argv[3], NULL, 10) : 0,
	       step = argc > 6 ? strtoul(argv[4], NULL, 10) : 0;
	size_t end = argc > 6 ? strtoul(argv[5], NULL, 10) : 0;
	int r = 0;

	if (!step)
		return fault_set(reterr, -EINVAL, "modules DIRECTORY FIRST STEP END PROFILE...");
	for (int v = 6; v < argc; v++) {
		_clean_(profile_freep) struct profile *profile = NULL;

		r = profile_read(argv[v], &profile, reterr);
		for (size_t m = first; r == 0 && m < end; m += step) {
			char path[4096];

			fleet_module_id(m, &profile->build_id);
			snprintf(path, sizeof(path), "%s/%zu-%d", argv[2], m, v - 6);
			r = profile_write(profile, path, reterr);
		}
		if (r < 0)
			return r;
	}
	return r;
}
