/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * generations.h - what Morph made of the programs of this machine, for the page
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

struct made_generation {
	char *path, *state, *reason; /* owned; reason: NULL for none */
	int64_t number;		     /* 0: the shipped file */
	bool is_active;
	int64_t created_ns, samples, crashes;
	double gain; /* predicted: 0.1 is a tenth less executed; NAN: not known */
	double measured, measured_low, measured_high; /* gain and its interval; NAN: not measured */
};

struct made_generations {
	struct made_generation *list; /* owned; by path, then number */
	size_t n, capacity;
};

/**
 * made_generations_read() - of programs that were edited, from @state_directory, or NULL: from the configured one where it
 * may be read, else from morphd
 * Return: 0; -errno with @reterr: nothing is known here
 */
int made_generations_read(const char *state_directory, struct made_generations *ret, struct fault *reterr);
void made_generations_done(struct made_generations *generations);
