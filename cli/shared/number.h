/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/** number_parse() - a whole text that is a number from @low to @high; false, and @ret as it was, when it is not */
bool number_parse(const char *text, double low, double high, double *ret);
