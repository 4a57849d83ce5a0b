/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * digest.h - XXH3-128 of a file's bytes, as 32 hexadecimal digits
 *
 * It tells accidental damage and other files apart; it is no defence against somebody who can write
 * to the store, which only root can.
 */

#include <stddef.h>

#include "base/fault.h"

#define DIGEST_TEXT 33

void digest_bytes(const void *bytes, size_t size, char ret[DIGEST_TEXT]);
/** digest_fd() - from the start of the file, whatever its position; @name is for messages */
int digest_fd(int fd, const char *name, char ret[DIGEST_TEXT], struct fault *reterr);
