/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * audience.h - what somebody may be told: who ran what is nobody else's business
 *
 * The system's programs, those under the prefixes of morphd.conf(5), are known to all. What a user has below a
 * home directory that bears the user's name (by the user database alone: no file is looked at) is known to that user.
 * All else is for root, the user morphd runs as, and whom polkit allows org.morph.see-all.
 */

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "manager/keep/settings.h"

struct audience {
	const struct settings *settings; /* borrowed */
	bool sees_all;
	char home[PATH_MAX]; /* "" when the user has none that counts */
};

void audience_of(const struct settings *settings, uid_t uid, bool sees_all, struct audience *ret);

/** audience_sees() - @path may be NULL: it is about no program */
bool audience_sees(const struct audience *audience, const char *path);
