/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * drop.h - what is deleted goes with all that belongs to it; what a kill in between leaves is deleted the next time
 */

#include "manager/keep/context.h"

/** drop_generation() - one that stands nowhere: its files and samples go, its row says so */
int drop_generation(struct manager *manager, int64_t id, struct fault *reterr);
/** drop_module() - all that is known of a module, and its files in the store */
int drop_module(struct manager *manager, int64_t id, struct fault *reterr);
