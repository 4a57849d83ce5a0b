/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * usage.h - whose time it was, by the hour: `morph report --since yesterday --by unit`
 *
 * A row for each process name, unit and user in each hour. Names are what processes call themselves, so whoever wants to
 * can have many: of one user other than the system's at most USAGE_OF_USER in an hour, of all USAGE_OF_HOUR; the time of
 * what is beyond counts for a row without names. Hours older than `usage_days` go when a new one begins.
 */

#include "manager/keep/state.h"
#include "profiles/samples/sample_log.h"

#define USAGE_OF_USER 128
#define USAGE_OF_HOUR 1024
#define USAGE_HOUR_NS 3600000000000ull

/**
 * usage_add() - the owners of a log's samples; what has none is nobody's. In a transaction
 * @days: how long hours are kept; 0: nothing is
 * Return: 0 or -errno. A log from before the oldest hour that is kept, or from the future, is not entered.
 */
int usage_add(struct state *state, const struct sample_log *log, uint64_t days, struct fault *reterr);
