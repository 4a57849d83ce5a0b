/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * rebuild.h - what the store has and the database does not know: an empty database filled, an interrupted change finished
 *
 * Modules, generations and installed paths come back, and which generation stands at each path is
 * found by looking at the file; samples gathered since the last edit, events and decisions are lost.
 */

#include "manager/keep/context.h"

/**
 * rebuild_agree() - after a start: generations that were dropped from the database go from the store, too, and those that an
 * interrupted edit had put there are entered, and so is what is there of programs that an older database does not know. Where both know a number and mean different files, nothing is done.
 */
int rebuild_agree(struct manager *manager, struct fault *reterr);

/** rebuild_missing() - which programs' shipped files are not in the store, as after half a restore? Each is logged; *retn of them */
int rebuild_missing(struct manager *manager, unsigned *retn, struct fault *reterr);

/** rebuild_from_store() - *retn: modules found. What cannot be read is logged and skipped. */
int rebuild_from_store(struct manager *manager, unsigned *retn, struct fault *reterr);
