/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/clock/agreement.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HALF_LIFE_S 300.0
#define Z_MARK 5.0 /* about one in 3 million for independent samples */
#define Z_UNMARK 2.0
#define FACTOR 2.0
#define MIN_REFERENCE 12.0 /* samples; fewer say nothing */

static int reserve(struct agreement *agreement, size_t n)
{
	struct agreement_module *modules;
	size_t grown = n + n / 2 + 64;

	if (n <= agreement->n_modules)
		return 0;
	modules = reallocarray(agreement->modules, grown, sizeof(*modules));
	if (!modules)
		return -ENOMEM;
	memset(modules + agreement->n_modules, 0, (grown - agreement->n_modules) * sizeof(*modules));
	agreement->modules = modules;
	agreement->n_modules = grown;
	return 0;
}

int agreement_add(struct agreement *agreement, uint32_t module, uint64_t tick, uint64_t reference)
{
	int r = reserve(agreement, (size_t)module + 1);

	if (r < 0)
		return r;
	agreement->modules[module].tick += tick;
	agreement->modules[module].reference += reference;
	return 0;
}

/* What this round says; what was said before counts less the older it is. */
static void sum_up(struct agreement_module *module, const struct agreement_clocks *clocks, double keep)
{
	double part = clocks->reference_hz / (clocks->tick_hz + clocks->reference_hz);
	double n = (double)(module->tick + module->reference), expected = n * part;

	module->seen *= keep;
	module->expected *= keep;
	module->variance *= keep;
	if (!clocks->is_paused || (double)module->reference >= expected) {
		module->seen += (double)module->reference;
		module->expected += expected;
		module->variance += expected * (1 - part);
	}
	module->tick = module->reference = 0;
}

static void judge(struct agreement_module *module)
{
	double z = fabs(module->seen - module->expected) / sqrt(module->variance);
	bool is_far = module->seen > module->expected * FACTOR || module->expected > module->seen * FACTOR;

	if (fmax(module->seen, module->expected) < MIN_REFERENCE)
		return;
	if (z > Z_MARK && is_far)
		module->is_synchronous = true;
	else if (z < Z_UNMARK || !is_far)
		module->is_synchronous = false;
}

size_t agreement_round(struct agreement *agreement, const struct agreement_clocks *clocks, double elapsed_s)
{
	double keep = exp2(-elapsed_s / HALF_LIFE_S);
	size_t n = 0;

	for (size_t i = 0; i < agreement->n_modules; i++) {
		struct agreement_module *module = &agreement->modules[i];

		sum_up(module, clocks, keep);
		judge(module);
		n += module->is_synchronous;
	}
	return n;
}

bool agreement_is_synchronous(const struct agreement *agreement, uint32_t module)
{
	return module < agreement->n_modules && agreement->modules[module].is_synchronous;
}

int agreement_renumber(struct agreement *agreement, const uint32_t *map, size_t n)
{
	struct agreement_module *modules = calloc(agreement->n_modules + 1, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	for (size_t i = 0; i < n && i < agreement->n_modules; i++)
		if (map[i] < agreement->n_modules)
			modules[map[i]] = agreement->modules[i];
	free(agreement->modules);
	agreement->modules = modules;
	return 0;
}

void agreement_done(struct agreement *agreement)
{
	free(agreement->modules);
	*agreement = (struct agreement){ 0 };
}
