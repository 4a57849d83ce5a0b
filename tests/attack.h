/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * attack.h - an attack is tried, and its outcome is a line that can be counted
 *
 *	ATTACK("sandbox-truncate", truncate(path, 0) < 0);
 *
 * prints "attack sandbox-truncate: held", or "...: succeeded" and fails the test. The condition says that
 * the attack was repelled, and is evaluated after the attack was really made. Tests with attacks have the
 * ctest label "attack"; docs/security.md lists every name.
 */

#include <stdio.h>

#include "tests/test.h"

#define ATTACK(name, repelled)                                                      \
	do {                                                                        \
		bool held_ = (repelled);                                            \
		printf("attack %s: %s\n", name, held_ ? "held" : "succeeded");      \
		if (!held_)                                                         \
			FAIL("attack %s succeeded: not true: %s", name, #repelled); \
	} while (0)
