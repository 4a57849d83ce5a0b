/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-similarity A B - how alike are two sample logs of the same time?
 *
 * Histogram intersection: the sum, over all places, of the smaller of the two shares. 1 means equal; two
 * logs of the same activity by independent clocks stay below 1 because samples are few, so what a clock's
 * bias is must be judged against two logs of the same kind of clock. Places are 64-byte lines, 4 KB pages,
 * and whole files. Kernel samples are left out: tick and timer interrupts see them differently by design.
 */

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "profiles/samples/sample_log.h"

static int usage(void)
{
	fputs("usage: bench-similarity A.samples B.samples\n", stderr);
	return 2;
}

static bool is_compared(const struct sample_module *module)
{
	return module->kind != SAMPLE_MODULE_KERNEL;
}

static double total_of(const struct sample_log *log)
{
	double sum = 0;

	for (size_t i = 0; i < log->n_modules; i++)
		if (is_compared(&log->modules[i]))
			sum += (double)log->modules[i].total;
	return sum;
}

static const struct sample_module *same_module(const struct sample_log *log,
					       const struct sample_module *module)
{
	for (size_t i = 0; i < log->n_modules; i++) {
		const struct sample_module *m = &log->modules[i];

		if (m->kind == module->kind && build_id_is_equal(&m->build_id, &module->build_id) &&
		    (module->build_id.size || strcmp(m->path, module->path) == 0))
			return m;
	}
	return NULL;
}

/* Counts of all offsets in the place that begins at index @at; moves @at behind it. */
static double place_take(const struct sample_module *module, size_t *at, unsigned shift)
{
	uint64_t place = module->counts[*at].offset >> shift;
	double sum = 0;

	while (*at < module->n_counts && module->counts[*at].offset >> shift == place)
		sum += (double)module->counts[(*at)++].count;
	return sum;
}

static double module_intersection(const struct sample_module *a, double n_a, const struct sample_module *b,
				  double n_b, unsigned shift)
{
	double sum = 0;
	size_t i = 0, k = 0;

	while (i < a->n_counts && k < b->n_counts) {
		uint64_t place_a = a->counts[i].offset >> shift, place_b = b->counts[k].offset >> shift;
		double share_a = place_a <= place_b ? place_take(a, &i, shift) / n_a : 0;
		double share_b = place_b <= place_a ? place_take(b, &k, shift) / n_b : 0;

		sum += MIN(share_a, share_b);
	}
	return sum;
}

static double intersection(const struct sample_log *a, const struct sample_log *b, unsigned shift)
{
	double n_a = total_of(a), n_b = total_of(b), sum = 0;

	for (size_t i = 0; i < a->n_modules && n_a > 0 && n_b > 0; i++) {
		const struct sample_module *module = &a->modules[i];
		const struct sample_module *other = is_compared(module) ? same_module(b, module) : NULL;

		if (other)
			sum += module_intersection(module, n_a, other, n_b, shift);
	}
	return sum;
}

int main(int argc, char **argv)
{
	_clean_(sample_log_freep) struct sample_log *a = NULL, *b = NULL;
	struct json json = json_to(stdout);
	struct fault fault;

	if (argc != 3)
		return usage();
	if (sample_log_read(argv[1], &a, &fault) < 0 || sample_log_read(argv[2], &b, &fault) < 0 ||
	    sample_log_unite(a) < 0 || sample_log_unite(b) < 0) {
		fprintf(stderr, "bench-similarity: %s\n", fault.text);
		return 1;
	}
	json_object_begin(&json, NULL);
	json_double(&json, "samples_a", total_of(a));
	json_double(&json, "samples_b", total_of(b));
	json_double(&json, "line", intersection(a, b, 6));
	json_double(&json, "page", intersection(a, b, 12));
	json_double(&json, "file", intersection(a, b, 63));
	json_object_end(&json);
	return 0;
}
