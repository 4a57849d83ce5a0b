/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * sha256.h - SHA-256 (FIPS 180-4) of bytes and of files, by libcrypto
 *
 * The one hash that anything here rests trust on: nobody can make two files with the same one.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/macro.h"

#define SHA256_BYTES 32u
#define SHA256_TEXT 65u /* hexadecimal digits and the end */

struct sha256; /* a hash under way */

/** sha256_new() - NULL: no memory */
struct sha256 *sha256_new(void);
void sha256_free(struct sha256 *hash); /* accepts NULL */
DEFINE_CLEANUP(struct sha256 *, sha256_free);
void sha256_add(struct sha256 *hash, const void *bytes, size_t size);
/** sha256_end() - of all that was added; -ENOMEM when libcrypto could not go on */
int sha256_end(struct sha256 *hash, uint8_t ret[SHA256_BYTES]);

/** sha256_of() - of @size bytes; 0 or -ENOMEM */
int sha256_of(const void *bytes, size_t size, uint8_t ret[SHA256_BYTES]);
/** sha256_of_fd() - from the start of the file, whatever its position; @name is for messages */
int sha256_of_fd(int fd, const char *name, uint8_t ret[SHA256_BYTES], struct fault *reterr);
/** sha256_text() - as hexadecimal digits, into @ret, which is returned */
const char *sha256_text(const uint8_t bytes[SHA256_BYTES], char ret[SHA256_TEXT]);
