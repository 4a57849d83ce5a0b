/* SPDX-License-Identifier: Apache-2.0 */

#include "bench/accuracy/draw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t count_thin(uint64_t count, double odds, uint64_t *random)
{
	uint64_t kept = 0;

	for (uint64_t j = 0; j < count; j++)
		kept += (double)(random_next(random) >> 11) * 0x1p-53 < odds;
	return kept;
}

int draw_module(const struct sample_module *module, double want, struct sample_module *ret)
{
	double odds = want / (double)module->total;
	uint64_t state = 88172645463325252u;

	*ret = *module;
	ret->counts = calloc(module->n_counts + 1, sizeof(*ret->counts));
	ret->branches = calloc(module->n_branches + 1, sizeof(*ret->branches));
	ret->n_counts = ret->n_branches = ret->total = 0;
	if (!ret->counts || !ret->branches)
		return -ENOMEM;
	for (size_t i = 0; i < module->n_counts; i++) {
		struct sample_count kept = { module->counts[i].offset,
					     count_thin(module->counts[i].count, odds, &state) };

		if (!kept.count)
			continue;
		ret->counts[ret->n_counts++] = kept;
		ret->total += kept.count;
	}
	for (size_t i = 0; i < module->n_branches; i++) {
		struct sample_branch kept = module->branches[i];

		kept.count = count_thin(kept.count, odds, &state);
		if (kept.count)
			ret->branches[ret->n_branches++] = kept;
	}
	return 0;
}

int draw_logs(const struct sample_log *log, unsigned n, uint64_t *random, struct sample_log **ret)
{
	struct sample_log *parts[DRAW_LOGS] = { NULL };
	int r = 0;

	for (unsigned i = 0; i < n; i++) {
		parts[i] = sample_log_new();
		if (!parts[i])
			r = -ENOMEM;
		else
			*parts[i] = (struct sample_log){ .source = log->source,
							 .rate_hz = log->rate_hz,
							 .start_ns = log->start_ns,
							 .n_cpus = log->n_cpus,
							 .duration_ns = log->duration_ns / n };
	}
	for (size_t m = 0; r == 0 && m < log->n_modules; m++) {
		const struct sample_module *from = &log->modules[m];

		for (size_t i = 0; i < from->n_counts; i++) {
			uint64_t dealt[DRAW_LOGS] = { 0 };

			for (uint64_t j = 0; j < from->counts[i].count; j++)
				dealt[random_next(random) % n]++;
			for (unsigned k = 0; r == 0 && k < n; k++) {
				struct sample_module *to;

				if (!dealt[k])
					continue;
				to = sample_log_module(parts[k], from->kind, &from->build_id, from->path,
						       from->file_size, from->mtime_ns);
				r = to ? sample_module_add(to, from->counts[i].offset, dealt[k]) : -ENOMEM;
			}
		}
	}
	memcpy(ret, parts, sizeof(parts));
	return r;
}
