/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * yield.h - the edit under way gives way: frozen while others want the machine, cancelled when that takes too long
 *
 * Looks twenty times a second (decide/presence.h), so that an edit stands still within 200 ms of a user's return; once a second
 * where there is no control group to ask for its CPU time. It goes on
 * when the machine has been quiet for `resume_after`. It is frozen for `frozen_time` at most, all times together: nobody
 * can keep one for ever. What somebody asked for is not frozen.
 */

#include "manager/act/edit.h"

struct yield;

/** What has to be done about the edit, by whoever owns it. */
typedef void (*yield_cancel)(void *userdata, const char *text);

/** yield_new() - NULL: no memory. @cancel: called from the event loop; it ends the edit, and calls yield_stop() */
struct yield *yield_new(struct manager *manager, yield_cancel cancel, void *userdata);
void yield_free(struct yield *yield); /* accepts NULL */

/** yield_start() - watch over @edit (borrowed), until yield_stop(), which comes before its end. 0 or -errno */
int yield_start(struct yield *yield, struct edit *edit, struct fault *reterr);
void yield_stop(struct yield *yield);

/** yield_frozen() - NULL: it runs; else why it is frozen, and since when (seconds) */
const char *yield_frozen(const struct yield *yield, uint64_t *retseconds);
