/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fetch.h - a sidecar by build ID, from debuginfod servers
 *
 * A stock debuginfod(8) serves any section of the files that it knows: URL/buildid/ID/section/.morph. Who answers is not
 * trusted: what comes is taken only if it has the SHA-256 that the program names (module/sidecar.h), within limits of
 * size and time. Transport, TLS and names are libcurl's. Only http and https; answers that lead elsewhere are not followed,
 * so that no server chooses whom this machine talks to; nothing is decompressed.
 *
 * Servers are asked one after the other, until one has it.
 */

#include "base/bytes.h"
#include "base/fault.h"
#include "base/sha256.h"

struct fetch_request {
	const char *const *urls; /* NULL-terminated */
	const char *build_id;	 /* hexadecimal digits */
	uint8_t sha256[SHA256_BYTES];
	uint64_t max_bytes;
	unsigned timeout_s; /* of the clock on the wall, all servers together */
};

/**
 * fetch_sidecar() - its bytes, checked, into @ret, which is empty before
 * Return: 0; -ENODATA: no server has it; -EBADMSG, -EFBIG, -ETIMEDOUT, -EIO: the last one that did not simply say no
 * sent something else, too much, too slowly, or could not be asked. @reterr says so of each server.
 */
int fetch_sidecar(const struct fetch_request *request, struct buffer *ret, struct fault *reterr);
