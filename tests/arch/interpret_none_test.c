/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Where Morph knows no interpreter. That interpret.h chooses this one for other machines than x86-64 is for the compiler
 * to show (walk_test.sh).
 */

#include "arch/none/interpret.h"
#include "tests/test.h"

static unsigned n_asked;

static unsigned interpret_fetch(struct interpreter *m, uint64_t address, uint8_t code[INTERPRET_BYTES])
{
	(void)m, (void)address, (void)code;
	return n_asked++;
}

static bool interpret_load(struct interpreter *m, uint64_t address, unsigned size, uint64_t *ret)
{
	(void)m, (void)address, (void)size, (void)ret;
	return n_asked++;
}

TEST(an_architecture_that_is_not_interpreted_stops_at_once)
{
	struct interrupted from = { .ip = 0x1000 };
	struct interpreter m;

	interpret_start(&m, &from, NULL);
	CHECK_INT(m.ip, 0x1000);
	for (int i = 0; i < 3; i++)
		CHECK_INT(interpret_step(&m), INTERPRET_STOP);
	CHECK_INT(m.ip, 0x1000);
	CHECK_INT(n_asked, 0); /* no code is read, nor memory */
}

TEST_MAIN()
