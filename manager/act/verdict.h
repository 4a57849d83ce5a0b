/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * verdict.h - may this module be edited now? decide.h with all that it wants to know: pins, places, load, disk
 */

#include "manager/decide/decide.h"
#include "manager/decide/machine.h"
#include "manager/keep/catalog.h"
#include "manager/keep/context.h"

/** verdict_on() - @automatic: nobody asked for it. @retreason: one sentence. 0 or an error of the database */
int verdict_on(struct manager *manager, const struct module_row *module, bool automatic, enum decision *ret,
	       char retreason[DECIDE_REASON_MAX], struct fault *reterr);

/**
 * verdict_remembered() - the same for one of many, with nobody asking: @load is of now, and whether a generation could be
 * activated as it was some minutes ago (allowed.h)
 */
int verdict_remembered(struct manager *manager, const struct module_row *module,
		       const struct machine_load *load, enum decision *ret, char retreason[DECIDE_REASON_MAX],
		       struct fault *reterr);
