/* SPDX-License-Identifier: Apache-2.0 */

/*
 * MD5() of libcrypto, which OpenSSL 3 calls deprecated, not EVP_Digest(): it cannot fail, allocates nothing, reads no
 * openssl.cnf (the editor runs in a sandbox), and a system that forbids MD5 for signatures does not forbid it. Nothing
 * is protected by this hash: it is a name, and LLVM chose it.
 */

#define OPENSSL_SUPPRESS_DEPRECATED
#include "module/md5.h"

#include <openssl/md5.h>
#include <string.h>

uint64_t md5_guid(const void *bytes, size_t size)
{
	uint8_t digest[MD5_DIGEST_LENGTH];
	uint64_t guid;

	MD5(bytes, size, digest);
	memcpy(&guid, digest, sizeof(guid)); /* hosts are little-endian */
	return guid;
}
