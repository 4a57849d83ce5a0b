/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * rebuild.h - fill an empty database from the store
 *
 * Modules, generations and installed paths come back, and which generation stands at each path is
 * found by looking at the file; samples gathered since the last edit, events and decisions are lost.
 */

#include "manager/keep/context.h"

/** rebuild_from_store() - *retn: modules found. What cannot be read is logged and skipped. */
int rebuild_from_store(struct manager *manager, unsigned *retn, struct fault *reterr);
