/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * container.h - the frame around every file that Morph writes
 *
 * Thirty-two bytes, then the payload, stored or deflated (docs/format-container.md):
 *
 *	0  8  magic "\x89MORPH\r\n"	 a text-mode or truncated copy is noticed at once
 *	8  2  kind			 enum container_kind
 *	10 2  version			 of the payload's own format
 *	12 4  flags			 bit 0: payload is deflated (zlib)
 *	16 8  raw size			 bytes of the payload after inflating, <= CONTAINER_MAX_BYTES
 *	24 4  stored size, low 32 bits	 bytes that follow the header
 *	28 4  CRC-32			 of bytes 0..27 and of the stored payload
 *
 * Readers refuse what they do not know; a kind's version changes whenever an old reader would go wrong.
 */

#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"

#define CONTAINER_HEADER_BYTES 32u
#define CONTAINER_MAX_BYTES (1ull << 32) /* 4 GiB: no payload of ours is larger */

enum container_kind {
	CONTAINER_SAMPLE_LOG = 1,
	CONTAINER_PROFILE = 2,
	CONTAINER_MORPH = 3,	 /* .morph section, sidecar */
	CONTAINER_BLOCK_MAP = 4, /* a generation's own map, in the store */
	CONTAINER_MEMO = 5,	 /* what an edit found out (editor/steps/memo.h) */
	CONTAINER_CODE = 6,	 /* a module's code (editor/code/code_cache.h) */
	CONTAINER_KIND_END
};

/** container_kind_name() - "sample log", "profile", ...; never NULL */
const char *container_kind_name(unsigned kind);

/**
 * container_pack() - frame and compress a payload
 * @level: zlib level 0 (stored) to 9
 * @ret:   appended to; deterministic for the same input
 * Return: 0 or -ENOMEM, -EFBIG
 */
int container_pack(enum container_kind kind, unsigned version, const void *payload, size_t size, int level,
		   struct buffer *ret);

/**
 * container_peek() - kind and version of what claims to be one of our files
 * Return: 0; -EBADMSG with @reterr when it is not one.
 */
int container_peek(const void *bytes, size_t size, unsigned *retkind, unsigned *retversion,
		   struct fault *reterr);

/**
 * container_unpack() - check the frame and give the payload
 * @version: the only version the caller understands
 * @ret:     receives the payload, owned by the caller (buffer_done())
 * Return: 0; -EBADMSG (damaged, truncated), -EPROTONOSUPPORT (kind or version), -ENOMEM; @reterr says which.
 */
int container_unpack(const void *bytes, size_t size, enum container_kind kind, unsigned version,
		     struct buffer *ret, struct fault *reterr);

/** container_unpack_limited() - the same, but a payload of more than @max bytes is -EBADMSG before it is allocated */
int container_unpack_limited(const void *bytes, size_t size, enum container_kind kind, unsigned version,
			     uint64_t max, struct buffer *ret, struct fault *reterr);

/**
 * container_unpack_head() - no more than the first @max bytes of the payload, whatever size it claims
 * The whole frame is checked, and only what is asked for is inflated: memory and time do not depend on the claim.
 */
int container_unpack_head(const void *bytes, size_t size, enum container_kind kind, unsigned version,
			  size_t max, struct buffer *ret, struct fault *reterr);
