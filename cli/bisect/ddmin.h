/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * ddmin.h - the smallest part of a whole that still fails (Zeller and Hildebrandt, "Simplifying and Isolating
 * Failure-Inducing Input", IEEE TSE 28(2), 2002)
 */

#include <stdbool.h>
#include <stddef.h>

/** Does it fail with the parts that @in names, and no others? 1: yes; 0: no, or nobody knows; negative: give up */
typedef int ddmin_test(void *user, const bool *in, size_t n);

/**
 * ddmin() - of @n parts, all of which fail together; nothing at all does not fail
 * @ret: of @n; the answer: without any single one of its parts it does not fail (1-minimal)
 * Return: how many parts that are; what @test said when it gave up; -ENOMEM
 * Cost: 2 log2 n tests when one part is to blame, O(n^2) at worst. No set is asked about twice in a row of halvings.
 */
int ddmin(size_t n, ddmin_test *test, void *user, bool *ret);
