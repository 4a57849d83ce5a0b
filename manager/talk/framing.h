/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * framing.h - the bytes of a client of the socket, cut into what may be passed on: whole lines, whole messages
 *
 * A D-Bus connection is a NUL, lines of authentication up to "BEGIN", then messages, whose first 16 bytes say how
 * long they are (D-Bus specification, "Authentication Protocol", "Message Format"). sd-bus takes lengths up to
 * 128 MiB at their word. Here a line has at most FRAMING_LINE_MAX bytes, a message FRAMING_MESSAGE_MAX, and nothing
 * is passed on before all of it is there. What is in a message is sd-bus's business.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define FRAMING_LINE_MAX 512u
#define FRAMING_LINES_MAX 32u
#define FRAMING_MESSAGE_MAX 32768u /* two paths, a reason, and the header fields */

struct framing {
	uint8_t held[FRAMING_MESSAGE_MAX];
	size_t n_held;
	unsigned n_lines;
	uint64_t n_messages; /* whole ones so far */
	bool has_begun;	     /* BEGIN was seen */
};

/**
 * framing_take() - @size more bytes; what is complete by now is appended to @ret
 * Return: 0; -EPROTO when that is no D-Bus; -EMSGSIZE when a line or a message is too long; -ENOMEM.
 */
int framing_take(struct framing *framing, const uint8_t *bytes, size_t size, struct buffer *ret);
