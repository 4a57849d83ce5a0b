/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * names.h - what a table offers by name, told to people in the same words everywhere
 *
 * A table (estimators, formats, passes, ...) gives its rows one after the other through a function of type named_at.
 */

#include <stddef.h>
#include <stdio.h>

#include "base/fault.h"

struct named {
	const char *name;  /* one word; NULL: the table has ended */
	const char *title; /* a few words; static, as the name */
};

typedef struct named (*named_at)(size_t i);

/** names_print() - a line for each row */
void names_print(FILE *out, named_at at);

/** names_join() - "length, flow, latency" into @ret, which is returned; what has no room is cut */
const char *names_join(named_at at, char *ret, size_t size);

/** names_refuse() - "no KIND "NAME"; there are: length, flow, latency" and -EINVAL; @name may be foreign */
int names_refuse(const char *kind, const char *name, named_at at, struct fault *reterr);
