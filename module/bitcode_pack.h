/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bitcode_pack.h - modules of IR in little space
 *
 * A bitstream hides its structure from byte-wise compressors: fields have any width and stand at any
 * bit. Here the modules are walked field by field (bitstream.h), and each is coded by what is known of
 * it: block, record, place in the record, its neighbours, the record of that kind before. Unpacking
 * gives the same bits; whatever would not is stored as it is.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "module/bitcode_prior.h"

struct bitcode_span {
	const uint8_t *bytes;
	size_t size;
};

/** bitcode_pack() - append the packed form of @n modules to @ret; 0 or -ENOMEM. Deterministic. */
int bitcode_pack(const struct bitcode_span *modules, size_t n, const struct bitcode_prior *prior,
		 struct buffer *ret);

/**
 * bitcode_unpack() - foreign bytes: all that bitcode_pack() wrote
 * @sizes: of the modules
 * @ret:   the modules one behind the other, owned by the caller
 * Return: 0; -EBADMSG with @reterr; -ENOMEM.
 */
int bitcode_unpack(const void *bytes, size_t size, const struct bitcode_prior *prior, const size_t *sizes,
		   size_t n, struct buffer *ret, struct fault *reterr);
