/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bus.h - morphd's D-Bus interface, on a socket of its own and, when there is one, on a message bus
 *
 * The same object is served on both. The socket (RUNTIME/socket) speaks D-Bus directly between two
 * processes, so that morphd is usable where no bus runs: in containers, in a rescue shell, in tests.
 *
 *	Status()	    -> a{sv} daemon, aa{sv} modules with Morph data, aa{sv} others (most samples),
 *			       aa{sv} owners: what their programs take (all of them in StatusAll(); nobody else's here)
 *	Explain(s path)	    -> a{sv} target and module, aa{sv} generations, aa{sv} decisions, aa{sv} events
 *	History(s path)	    -> aa{sv} generations, aa{sv} events; "": events of all modules
 *	Pins()		    -> aa{sv}
 *	StatusAll(), ExplainAll(s), HistoryAll(s), PinsAll(): the same, of everybody's programs
 *	Reoptimize(s path)  -> s what happened; answers when the edit has ended
 *	Rollback(s path, x generation) -> s
 *	RollbackAll()	    -> u how many
 *	Tuned(s path, s directory, s text) -> s what happened (request_tuned())
 *	Pin(s path, s reason), Unpin(s path), Pardon(s path)
 *
 * Anybody may read what belongs to the system and to the caller (audience.h), a bounded number of times a second
 * (allowance.h). What is read comes from the database alone: no path is looked up, nothing is written, and what
 * there is no row of is "not known to morphd", whether there is such a file or not. Paths are compared as texts;
 * `morph` resolves them first, with the caller's rights. The ...All() methods are for root, for the user morphd
 * runs as, and on the system bus for whom polkit allows org.morph.see-all; the others of org.morph.manage.
 * A failure is the error BUS_ERROR with one sentence, or BUS_ERROR_NOT_KNOWN (bus_name.h).
 */

#include <systemd/sd-bus.h>

#include "manager/keep/context.h"

struct bus;

/**
 * bus_open() - listen on the socket, and join the bus at @address
 * @address: borrowed; "system", "session", "none", or a D-Bus address; NULL: the system bus, if there is one
 *
 * Without the system bus, morphd works on its socket, and looks for the bus again by and by; manager->bus_lack says why.
 * A bus that goes away is joined again when it is back. Errors: the socket; a bus that was named and cannot be reached;
 * -EEXIST: another morphd has the name.
 */
int bus_open(struct manager *manager, const char *address, struct bus **ret, struct fault *reterr);
void bus_free(struct bus *bus); /* accepts NULL */
DEFINE_CLEANUP(struct bus *, bus_free);
