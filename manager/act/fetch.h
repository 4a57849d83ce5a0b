/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fetch.h - sidecars that are not installed, from debuginfod servers, where morphd.conf names any
 *
 *	1. a program with enough samples for an edit names a sidecar that is not there (CARRIES_ELSEWHERE)
 *	2. a job with a network (morph-fetch) asks the servers for it, by build ID; it is told nothing else than that and
 *	   the SHA-256 that the program names
 *	3. what it hands out is hashed once more, and becomes STATE/sidecars/ab/cdef....morph
 *	4. the program is looked at again: from here on it is one that carries Morph data, and what was sampled counts
 *
 * One at a time, beside edits. One that failed is tried again after an hour, two, four, at last every ten days.
 */

#include "manager/keep/context.h"

struct fetch;

/** fetch_tick() - start the next one, if there is one to do and none under way */
int fetch_tick(struct manager *manager, struct fault *reterr);

/** fetch_stop() - end the one under way. Accepts NULL */
void fetch_stop(struct fetch *fetch);
