/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/agreement.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HALF_LIFE_S 300.0
#define Z_MARK 5.0   /* about one in 3 million for independent samples */
#define Z_UNMARK 2.0
#define FACTOR 1.5
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
	agreement->modules[module].tick += (double)tick;
	agreement->modules[module].reference += (double)reference;
	agreement->tick += (double)tick;
	agreement->reference += (double)reference;
	return 0;
}

/* Two-proportion z test with the pooled share. */
static double z_of(double a, double n_a, double b, double n_b)
{
	double pooled = (a + b) / (n_a + n_b);
	double variance = pooled * (1 - pooled) * (1 / n_a + 1 / n_b);

	return variance > 0 ? (a / n_a - b / n_b) / sqrt(variance) : 0;
}

static void judge(const struct agreement *agreement, struct agreement_module *module)
{
	double tick = module->tick / agreement->tick;
	double reference = module->reference / agreement->reference;
	double z = fabs(z_of(module->reference, agreement->reference, module->tick, agreement->tick));
	bool is_far = tick > reference * FACTOR || reference > tick * FACTOR;
	/* What the tick alone sees must still be enough for the reference to have seen some of it. */
	double expected = fmax(module->reference, tick * agreement->reference);

	if (expected < MIN_REFERENCE)
		return;
	if (z > Z_MARK && is_far)
		module->is_synchronous = true;
	else if (z < Z_UNMARK || !is_far)
		module->is_synchronous = false;
}

size_t agreement_round(struct agreement *agreement, double elapsed_s)
{
	double keep = exp2(-elapsed_s / HALF_LIFE_S);
	size_t n = 0;

	for (size_t i = 0; i < agreement->n_modules; i++) {
		struct agreement_module *module = &agreement->modules[i];

		if (agreement->tick > 0 && agreement->reference > 0)
			judge(agreement, module);
		n += module->is_synchronous;
		module->tick *= keep;
		module->reference *= keep;
	}
	agreement->tick *= keep;
	agreement->reference *= keep;
	return n;
}

bool agreement_is_synchronous(const struct agreement *agreement, uint32_t module)
{
	return module < agreement->n_modules && agreement->modules[module].is_synchronous;
}

void agreement_done(struct agreement *agreement)
{
	free(agreement->modules);
	*agreement = (struct agreement){ 0 };
}
