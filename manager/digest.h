/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * digest.h - what tells files apart in the store and in state.db: SHA-256 of their bytes, as text
 */

#include <stddef.h>

#include "base/fault.h"
#include "base/sha256.h"

#define DIGEST_TEXT SHA256_TEXT

/** digest_bytes() - 0 or -ENOMEM; @ret is "" then */
int digest_bytes(const void *bytes, size_t size, char ret[DIGEST_TEXT]);
/** digest_fd() - from the start of the file, whatever its position; @name is for messages */
int digest_fd(int fd, const char *name, char ret[DIGEST_TEXT], struct fault *reterr);
