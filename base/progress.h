/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * progress.h - one status line on a terminal during long work; nothing when it is not a terminal
 */

#include <stddef.h>
#include <stdint.h>

struct progress {
	int fd;		   /* -1: stay silent */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t shown_ns;
};

/** progress_begin() - @fd: usually STDERR_FILENO; silent unless it is a terminal */
void progress_begin(struct progress *progress, int fd);
/** progress_step() - "WHAT 3/17, about 12 s left"; redraws at most ten times a second, @total 0: unknown */
void progress_step(struct progress *progress, const char *what, size_t done, size_t total);
/** progress_end() - clear the line */
void progress_end(struct progress *progress);
