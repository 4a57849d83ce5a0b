/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/digest.h"

int digest_bytes(const void *bytes, size_t size, char ret[DIGEST_TEXT])
{
	uint8_t hash[SHA256_BYTES];
	int r = sha256_of(bytes, size, hash);

	ret[0] = '\0';
	if (r == 0)
		sha256_text(hash, ret);
	return r;
}

int digest_fd(int fd, const char *name, char ret[DIGEST_TEXT], struct fault *reterr)
{
	uint8_t hash[SHA256_BYTES];
	int r = sha256_of_fd(fd, name, hash, reterr);

	ret[0] = '\0';
	if (r == 0)
		sha256_text(hash, ret);
	return r;
}
