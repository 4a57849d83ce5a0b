/* SPDX-License-Identifier: Apache-2.0 */

/* Compiled, not run, for each architecture: what is chosen when Morph is built. walk_test.sh says what to expect. */

#include <assert.h>

#include "arch/interpret.h"

static_assert(INTERRUPTED_MACHINE == EXPECTED_MACHINE, "which programs' registers are interpreted");
static_assert((INTERRUPTED_PERF_N > 0) == (EXPECTED_MACHINE != EM_NONE), "registers are asked for, or not");

enum interpret_event native_step(struct interpreter *m, const struct interrupted *from);
enum interpret_event native_step(struct interpreter *m, const struct interrupted *from)
{
	interpret_start(m, from, (void *)0);
	return interpret_step(m);
}

static unsigned interpret_fetch(struct interpreter *m, uint64_t address, uint8_t code[INTERPRET_BYTES])
{
	(void)m, (void)address, (void)code;
	return 0;
}

static bool interpret_load(struct interpreter *m, uint64_t address, unsigned size, uint64_t *ret)
{
	(void)m, (void)address, (void)size;
	*ret = 0;
	return false;
}
