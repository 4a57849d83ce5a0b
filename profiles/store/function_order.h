/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * function_order.h - the functions of a profile as people and tools want to see them
 */

#include "profiles/store/profile.h"

#define FUNCTION_NAME_BYTES 32u

/**
 * function_order() - the functions by descending samples, equal ones by GUID
 * Return: an array of profile->n_functions pointers, to be freed; NULL: out of memory.
 */
const struct profile_function **function_order(const struct profile *profile);

/** function_name() - its name; "guid-0123456789abcdef" in @buffer when it has none */
const char *function_name(const struct profile_function *function, char buffer[FUNCTION_NAME_BYTES]);
