/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * activation.h - put a generation where its program is installed, and put the shipped file back
 *
 *	1. which generation stands there now? (installed.h)
 *	2. the store gets the shipped file and a description of the target, if it has not got them
 *	3. transaction: table swap says from what to what, and under which temporary name
 *	4. prepare and commit the replacement (replace.h), mount the generation over it (mounts.h), or put it beside (shadow.h)
 *	5. transaction: the target's generation, the event; the row of table swap goes
 *
 * After a crash anywhere between 3 and 5, activation_repair() looks at the file: it is the old or the
 * new one, never anything between, and the rows are made to say which.
 */

#include "manager/keep/context.h"

/**
 * activation_switch() - make @number the generation that stands at @path
 * @event: EVENT_ACTIVATED or EVENT_ROLLED_BACK   @reason: one sentence for the journal
 * Return: 0; 1: it stands there already; -EPERM, -EROFS, -ESTALE, -ENOSPC ... with @reterr, then the
 * file is what it was.
 */
int activation_switch(struct manager *manager, const char *path, int64_t number, const char *event,
		      const char *reason, struct fault *reterr);

/** activation_may() - could a generation of the program at @path be activated at all? -EPERM ... with the reason */
int activation_may(struct manager *manager, const char *path, struct fault *reterr);

/** activation_repair() - finish or undo what a crash interrupted; *retn: how many there were */
int activation_repair(struct manager *manager, unsigned *retn, struct fault *reterr);
