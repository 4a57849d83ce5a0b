/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * digest.h - what tells files apart in the store and in state.db: SHA-256 of their bytes, as text
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/sha256.h"

#define DIGEST_TEXT SHA256_TEXT

/** digest_bytes() - 0 or -ENOMEM; @ret is "" then */
int digest_bytes(const void *bytes, size_t size, char ret[DIGEST_TEXT]);
/** digest_fd() - from the start of the file, whatever its position; @name is for messages */
int digest_fd(int fd, const char *name, char ret[DIGEST_TEXT], struct fault *reterr);

/*
 * Until version 3 of state.db it was XXH3-128, 32 digits, which tells accidents apart, not attacks. Such a digest is
 * good for one thing: to be replaced, when the file still has it.
 */
bool digest_is_old(const char *digest);
/** digest_renew() - the SHA-256 of a file that has the digest @old; -EBADMSG when it has not, and nothing in @ret */
int digest_renew(int fd, const char *name, const char *old, char ret[DIGEST_TEXT], struct fault *reterr);
