/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/digest.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/macro.h"

static void digest_text(XXH128_hash_t hash, char ret[DIGEST_TEXT])
{
	snprintf(ret, DIGEST_TEXT, "%016llx%016llx", (unsigned long long)hash.high64,
		 (unsigned long long)hash.low64);
}

void digest_bytes(const void *bytes, size_t size, char ret[DIGEST_TEXT])
{
	digest_text(XXH3_128bits(bytes, size), ret);
}

static void stream_freep(XXH3_state_t **stream)
{
	XXH3_freeState(*stream);
}

int digest_fd(int fd, const char *name, char ret[DIGEST_TEXT], struct fault *reterr)
{
	_clean_(stream_freep) XXH3_state_t *stream = XXH3_createState();
	_clean_(freep) char *chunk = malloc(1 << 18);
	off_t at = 0;

	if (!stream || !chunk)
		return fault_errno(reterr, -ENOMEM, "%s", name);
	XXH3_128bits_reset(stream);
	for (;;) {
		ssize_t n = pread(fd, chunk, 1 << 18, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fault_errno(reterr, -errno, "%s: cannot read", name);
		if (n == 0)
			break;
		XXH3_128bits_update(stream, chunk, (size_t)n);
		at += n;
	}
	digest_text(XXH3_128bits_digest(stream), ret);
	return 0;
}
