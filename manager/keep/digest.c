/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/keep/digest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define OLD_DIGITS 32u
#define CHUNK_BYTES (1u << 18)

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

bool digest_is_old(const char *digest)
{
	return strlen(digest) == OLD_DIGITS;
}

static void stream_freep(XXH3_state_t **stream)
{
	XXH3_freeState(*stream);
}

/* Both digests of the same bytes, read once. */
static int both(int fd, XXH3_state_t *old, struct sha256 *hash)
{
	_clean_(freep) char *chunk = malloc(CHUNK_BYTES);
	off_t at = 0;

	if (!chunk)
		return -ENOMEM;
	for (;;) {
		ssize_t n = pread(fd, chunk, CHUNK_BYTES, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		XXH3_128bits_update(old, chunk, (size_t)n);
		sha256_add(hash, chunk, (size_t)n);
		at += n;
	}
}

int digest_renew(int fd, const char *name, const char *old, char ret[DIGEST_TEXT], struct fault *reterr)
{
	_clean_(stream_freep) XXH3_state_t *stream = XXH3_createState();
	_clean_(sha256_freep) struct sha256 *hash = sha256_new();
	uint8_t sha[SHA256_BYTES];
	char found[OLD_DIGITS + 1];
	XXH128_hash_t xxh;
	int r = stream && hash ? 0 : -ENOMEM;

	ret[0] = '\0';
	if (r == 0) {
		XXH3_128bits_reset(stream);
		r = both(fd, stream, hash);
	}
	if (r < 0)
		return fault_errno(reterr, r, "%s: cannot read", name);
	xxh = XXH3_128bits_digest(stream);
	snprintf(found, sizeof(found), "%016llx%016llx", (unsigned long long)xxh.high64,
		 (unsigned long long)xxh.low64);
	if (strcmp(found, old) != 0)
		return fault_set(reterr, -EBADMSG, "%s: damaged (its old digest is %s, not %s)", name, found,
				 old);
	r = sha256_end(hash, sha);
	if (r < 0)
		return fault_errno(reterr, r, "%s", name);
	sha256_text(sha, ret);
	return 0;
}
