/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * renewal.h - a state directory of a Morph before version 3 of state.db: SHA-256 for every XXH3 digest
 *
 * A digest is replaced only when the file still has the old one. Where the store's copy has not, the row keeps the old
 * digest: nothing matches it but a file that, when it is seen installed, has it (installed.c), so that nothing
 * is trusted for having survived the change. Does nothing where there is nothing old, so it runs at every start.
 */

#include "manager/keep/context.h"

/** renewal_store() - the store's descriptions; before the database may be built from them */
int renewal_store(struct manager *manager, struct fault *reterr);
/** renewal_rows() - generations, and spool files that were taken and not yet deleted */
int renewal_rows(struct manager *manager, struct fault *reterr);
