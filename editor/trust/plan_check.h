/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * plan_check.h - is there nothing in a link plan but what is known to be harmless?
 *
 * The words of a plan go to ld.lld, and those of its code generation to LLVM. Both have options that load
 * libraries, run programs, read and write any file, or give names another meaning only in a link that differs from
 * the shipped one. So a plan may say what is listed here, and nothing else.
 */

#include "base/fault.h"
#include "module/morph_data.h"

/** plan_check() - Return: 0; -ENOTSUP with @reterr naming the option */
int plan_check(const struct morph_data *data, struct fault *reterr);

/** plan_option_words() - how many words of a plan the option takes that begins with @word; 0: it is none that is known */
unsigned plan_option_words(const char *word);
