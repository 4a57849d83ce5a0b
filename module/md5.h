/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * md5.h - the hash by which LLVM names functions: GUID = low 64 bits of MD5(name) (RFC 1321)
 */

#include <stddef.h>
#include <stdint.h>

/** md5_guid() - first eight bytes of the digest of @bytes, read as a little-endian integer */
uint64_t md5_guid(const void *bytes, size_t size);
