/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * message_id.h - by which identifier the system's journal knows each kind of event (journal.h, sd-journal(3))
 *
 * systemd/morph.catalog explains each to people (`journalctl -x`). An identifier never changes its meaning.
 */

struct message_id {
	const char *kind; /* EVENT_SEEN, ... */
	const char *id;	  /* 32 hexadecimal digits */
	int priority;	  /* as syslog(3) has it */
};

extern const struct message_id message_ids[]; /* ends with a NULL kind */

/** message_id_find() - NULL: there is no such kind */
const struct message_id *message_id_find(const char *kind);
