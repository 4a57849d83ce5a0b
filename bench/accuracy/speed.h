/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * speed.h - how fast samples become counts
 *
 * A program's log, dealt out to DRAW_LOGS smaller ones as morphd would find them, is read, merged and turned into block
 * counts.
 */

#include "bench/accuracy/subject.h"

/* Samples to counts: CPU time of all of it, with the file and its map open. */
struct speed {
	const struct subject *program;
	const struct estimator *estimator;
	double samples, n_rows; /* of the module, in all logs */
	double seconds;
};

/** speed_measure() - of each program by the paper's estimator and by the default one; @ret: 2 * @n */
int speed_measure(const struct subject *subjects, size_t n, struct speed *ret, struct fault *reterr);
