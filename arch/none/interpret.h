/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Below arch/interpret.h: an architecture that is not interpreted. Every step stops. */

#include "arch/interpret_event.h"

#define INTERPRET_BYTES 4u

struct interpreter {
	uint64_t ip;
	const void *user;
};

INTERPRET_CALLBACK unsigned interpret_fetch(struct interpreter *m, uint64_t address,
					    uint8_t code[INTERPRET_BYTES]);
INTERPRET_CALLBACK bool interpret_load(struct interpreter *m, uint64_t address, unsigned size, uint64_t *ret);

INTERPRET_INLINE void interpret_start(struct interpreter *m, const struct interrupted *from, const void *user)
{
	*m = (struct interpreter){ .ip = from->ip, .user = user };
}

INTERPRET_INLINE enum interpret_event interpret_step(struct interpreter *m)
{
	(void)m;
	return INTERPRET_STOP;
}
