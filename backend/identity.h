/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * identity.h - the build ID of a file that the same sources give again
 *
 * The linker hashes all it writes, and that includes probes the compiler sorted by their places in
 * its memory, but not what is packed later. The ID of a packed file is the beginning of a SHA-256 of what is loaded and
 * of all Morph data: two files that differ in either have different IDs.
 */

#include "base/fault.h"
#include "module/build_id.h"
#include "module/image.h"
#include "module/morph_data.h"

/**
 * identity_make() - of @image without its own ID, and @data
 * Return: 0 with as many bytes as the linker's ID; -ENODATA: the linker gave none; -ENOMEM.
 */
int identity_make(const struct image *image, const struct morph_data *data, struct build_id *ret,
		  struct fault *reterr);

/** identity_write() - @id in place of the linker's in the file @path, which has @image's loaded
 * bytes. Return: 0; -errno */
int identity_write(const char *path, const struct image *image, const struct build_id *id);
