/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * peers.h - the clients of morphd's own socket, none of whom can keep others out
 *
 *	- nobody but root (and the user morphd runs as) has more than PEERS_PER_USER connections, all of them together
 *	  have PEERS_MAX - PEERS_RESERVED: the rest is root's
 *	- when those are all in use, the connection that has been quiet longest ends for a new one
 *	- without a first call within PEERS_FIRST_S, or another within PEERS_IDLE_S, the connection ends
 *	- a message has a bounded size, and is taken only as fast as answers are (relay.h)
 *	- root's calls come first
 */

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "manager/keep/context.h"

#define PEERS_MAX 128u
#define PEERS_RESERVED 32u
#define PEERS_PER_USER 16u
#define PEERS_FIRST_S 10u
#define PEERS_IDLE_S 60u

struct peers;

/**
 * peers_open() - make the socket RUNTIME/socket, or take the one systemd passed
 * @vtable: of the interface that each connection gets, @userdata its handlers'
 */
int peers_open(struct manager *manager, const sd_bus_vtable *vtable, void *userdata, struct peers **ret,
	       struct fault *reterr);
void peers_free(struct peers *peers); /* accepts NULL; what root's clients wait for is sent first */
DEFINE_CLEANUP(struct peers *, peers_free);

/** peers_uid() - whose connection @bus is; false when it is none of the socket's */
bool peers_uid(const struct peers *peers, const sd_bus *bus, uid_t *ret);

/** uid_is_trusted() - root, or the user morphd runs as */
bool uid_is_trusted(uid_t uid);
