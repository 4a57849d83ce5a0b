/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * visits.h - what came of the machines' visits at the database, and what they cost it
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define VISITS_TIMES (1u << 18) /* of each kind, that one worker keeps */

enum visits_time { VISITS_WHOLE, VISITS_PUSH, VISITS_PULL, VISITS_KINDS };

/* Of one worker, in memory that it shares with who started it. */
struct visits {
	uint64_t n, taken, again, refused, later, failed, nothing;
	uint64_t n_times[VISITS_KINDS];
	float times[VISITS_KINDS][VISITS_TIMES]; /* ms */
};

/** visits_new() - for @workers, shared with children; NULL: no memory */
struct visits *visits_new(unsigned workers);

/** visits_time() - one took so long */
void visits_time(struct visits *visits, enum visits_time kind, double ms);

/** visits_cpu_s() - CPU time of a postmaster and all its children, also those that ended; 0: it is not there */
double visits_cpu_s(pid_t postmaster);

/** visits_print() - one JSON object */
void visits_print(const struct visits *visits, unsigned workers, double wall_s, double database_cpu_s,
		  FILE *out);
