/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/sha256.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK_BYTES (1u << 18)

struct sha256 {
	EVP_MD_CTX *context; /* owned */
	bool bad;
};

struct sha256 *sha256_new(void)
{
	struct sha256 *hash = calloc(1, sizeof(*hash));

	if (!hash)
		return NULL;
	hash->context = EVP_MD_CTX_new();
	if (hash->context && EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) == 1)
		return hash;
	sha256_free(hash);
	return NULL;
}

void sha256_free(struct sha256 *hash)
{
	if (hash)
		EVP_MD_CTX_free(hash->context);
	free(hash);
}

void sha256_add(struct sha256 *hash, const void *bytes, size_t size)
{
	if (size && EVP_DigestUpdate(hash->context, bytes, size) != 1)
		hash->bad = true;
}

int sha256_end(struct sha256 *hash, uint8_t ret[SHA256_BYTES])
{
	return hash->bad || EVP_DigestFinal_ex(hash->context, ret, NULL) != 1 ? -ENOMEM : 0;
}

int sha256_of(const void *bytes, size_t size, uint8_t ret[SHA256_BYTES])
{
	_clean_(sha256_freep) struct sha256 *hash = sha256_new();

	if (!hash)
		return -ENOMEM;
	sha256_add(hash, bytes, size);
	return sha256_end(hash, ret);
}

int sha256_of_fd(int fd, const char *name, uint8_t ret[SHA256_BYTES], struct fault *reterr)
{
	_clean_(sha256_freep) struct sha256 *hash = sha256_new();
	_clean_(freep) char *chunk = malloc(CHUNK_BYTES);
	off_t at = 0;
	ssize_t n;

	if (!hash || !chunk)
		return fault_errno(reterr, -ENOMEM, "%s", name);
	while ((n = pread(fd, chunk, CHUNK_BYTES, at)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fault_errno(reterr, -errno, "%s: cannot read", name);
		sha256_add(hash, chunk, (size_t)n);
		at += n;
	}
	return sha256_end(hash, ret) < 0 ? fault_errno(reterr, -ENOMEM, "%s", name) : 0;
}

const char *sha256_text(const uint8_t bytes[SHA256_BYTES], char ret[SHA256_TEXT])
{
	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return ret;
}
