/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * relay.h - stands between a client of the socket and sd-bus
 *
 * sd-bus gets one end of a socket pair; the relay copies between the other end and the client, whole messages of
 * bounded size only (framing.h), and no faster than the client takes the answers. What a client can make morphd hold
 * is then one message, one chunk of answers, and what a call of his answers. Descriptors that he passes are dropped.
 */

#include <systemd/sd-event.h>

#include "base/fault.h"
#include "base/macro.h"

struct relay;

/** The connection ended, or the client broke the rules; relay_free() is the callee's business. */
typedef void (*relay_gone)(void *userdata);
/** One more whole message was passed on. */
typedef void (*relay_message)(void *userdata);

struct relay_options {
	sd_event *event;
	int64_t priority;
	relay_gone gone;
	relay_message message;
	void *userdata;
};

/**
 * relay_new() - @client_fd: taken over, also on error
 * @retinner: sd-bus's end, the caller's
 * Return: 0 or -errno.
 */
int relay_new(const struct relay_options *options, int client_fd, struct relay **ret, int *retinner);
/** relay_flush() - what sd-bus has written goes to the client, for at most a second */
void relay_flush(struct relay *relay);
void relay_free(struct relay *relay); /* accepts NULL */
DEFINE_CLEANUP(struct relay *, relay_free);
