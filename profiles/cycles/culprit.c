/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/cycles/culprit.h"

#define CULPRIT_ROW(id, name, title) { name, title },

static const struct named_culprit culprits[] = { CULPRITS(CULPRIT_ROW) };

const char *culprit_name(enum culprit culprit)
{
	return (unsigned)culprit < CULPRIT_END ? culprits[culprit].name : "?";
}

const char *culprit_title(enum culprit culprit)
{
	return (unsigned)culprit < CULPRIT_END ? culprits[culprit].title : "?";
}
