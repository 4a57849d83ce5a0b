/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * announce.h - events also go to the system's journal, with fields that can be searched and filtered by
 *
 *	MESSAGE			the program, and the event's text, without what a terminal would obey (base/text.h)
 *	MESSAGE_ID, PRIORITY	of the event's kind (keep/message_id.h)
 *	MORPH_EVENT		the kind
 *	MORPH_PATH		the program; absent for events of none
 *	MORPH_BUILD_ID		of the shipped file; likewise
 *	MORPH_EVENT_TEXT	the event's text, cleaned in the same way
 *
 * Only where morphd's standard error is the journal's ($JOURNAL_STREAM, systemd.exec(5)); elsewhere nothing is sent. What was
 * committed is announced when the event loop has come round, at most ANNOUNCE_AT_ONCE at a time: whoever makes many events
 * happen finds their older ones pushed out (journal.h), and journald has limits of its own.
 */

#include "manager/keep/context.h"

#define ANNOUNCE_AT_ONCE 64

struct announcer;

/** announce_open() - begins with the next event. Return: 0, also where there is no journal (*ret is NULL then); -errno */
int announce_open(struct manager *manager, struct announcer **ret, struct fault *reterr);
void announcer_free(struct announcer *announcer); /* accepts NULL */
DEFINE_CLEANUP(struct announcer *, announcer_free);
