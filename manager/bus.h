/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bus.h - morphd's D-Bus interface, on a socket of its own and, when there is one, on a message bus
 *
 * The same object is served on both. The socket (RUNTIME/socket) speaks D-Bus directly between two
 * processes, so that morphd is usable where no bus runs: in containers, in a rescue shell, in tests.
 *
 *	Status()	    -> a{sv} daemon, aa{sv} modules with Morph data, aa{sv} others (most samples)
 *	Explain(s path)	    -> a{sv} target and module, aa{sv} generations, aa{sv} decisions, aa{sv} events
 *	History(s path)	    -> aa{sv} generations, aa{sv} events; "": events of all modules
 *	Pins()		    -> aa{sv}
 *	Reoptimize(s path)  -> s what happened; answers when the edit has ended
 *	Rollback(s path, x generation) -> s
 *	RollbackAll()	    -> u how many
 *	Pin(s path, s reason), Unpin(s path), Pardon(s path)
 *
 * Anybody may read. The others are for root, for the user morphd runs as, and on the system bus for
 * whom polkit allows org.morph.manage. A failure is the error BUS_ERROR with one sentence.
 */

#include <systemd/sd-bus.h>

#include "manager/manager.h"

struct bus;

/**
 * bus_open() - listen on the socket, and join the bus at @address
 * @address: "system", "session", "none", or a D-Bus address
 */
int bus_open(struct manager *manager, const char *address, struct bus **ret, struct fault *reterr);
void bus_free(struct bus *bus); /* accepts NULL */
DEFINE_CLEANUP(struct bus *, bus_free);
