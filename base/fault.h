/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fault.h - one sentence about what went wrong, where, and what to do
 *
 * Functions that read foreign bytes or touch the system take a `struct fault *reterr` beside their
 * return code. They fill it exactly when they return non-zero. It has a fixed size, so that saying
 * what is wrong can never fail itself. The outermost caller prints it, once; libraries never print.
 */

#include "base/macro.h"

struct fault {
	char text[640]; /* "WHAT: WHERE: why; what to do", no trailing newline or full stop */
};

/**
 * fault_set() - record a sentence and pass an error code through
 * @reterr: may be NULL, then the sentence is dropped
 * @code:   returned unchanged, so that `return fault_set(reterr, -EINVAL, ...)` reads as it should
 */
int fault_set(struct fault *reterr, int code, const char *fmt, ...) _printf_(3, 4);

/** fault_errno() - fault_set() with ": " and strerror(-code) appended; @code is a negative errno */
int fault_errno(struct fault *reterr, int code, const char *fmt, ...) _printf_(3, 4);

/** fault_prefix() - put "PREFIX: " before the sentence that is already there; returns @code */
int fault_prefix(struct fault *reterr, int code, const char *fmt, ...) _printf_(3, 4);
