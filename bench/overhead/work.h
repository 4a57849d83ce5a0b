/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * work.h - time, and something to spend it on
 */

#include <time.h>

double now_s(clockid_t clock);
/** sleep_s() - all of it, signals or not */
void sleep_s(double seconds);

/** work() - @n steps through a table of 32 KiB: what sampling takes of the first-level cache is felt */
void work(long n);
