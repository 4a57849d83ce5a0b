/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What all interpreters share; below interpret.h, which is what others include. */

#include <stdbool.h>
#include <stdint.h>

#include "arch/interrupted.h"

#define INTERPRET_INLINE static inline __attribute__((always_inline))
#define INTERPRET_CALLBACK static __attribute__((unused)) /* not every interpreter calls both */

enum interpret_event {
	INTERPRET_STOP,	  /* nothing was changed that matters: this instruction is not known */
	INTERPRET_NEXT,	  /* done; ip is at the next one */
	INTERPRET_BRANCH, /* a conditional jump, or one through a register or memory: ip is where it went */
};
