/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * allowance.h - how many calls a user may make: a bucket of tokens each, filled at a steady rate
 *
 * For those who may only read. Root, and the user morphd runs as, are not asked.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ALLOWANCE_BURST 40u
#define ALLOWANCE_PER_SECOND 10u
#define ALLOWANCE_USERS 64u

struct allowance {
	struct {
		uid_t uid;
		double tokens;
		uint64_t last_ns; /* 0: a free entry */
	} users[ALLOWANCE_USERS]; /* when all are in use, whoever called longest ago is forgotten */
};

/** allowance_take() - one call of @uid at @now_ns (monotonic, not 0): may it be answered? */
bool allowance_take(struct allowance *allowance, uid_t uid, uint64_t now_ns);
