/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"
#include "base/sha256.h"

/* File offset of the bytes of the ID, 0: it has none. */
static size_t id_offset(const struct image *image)
{
	const struct build_id *id = image_build_id(image);
	size_t size;
	const uint8_t *bytes = image_bytes(image, &size);

	for (size_t i = 0; id->size && i < image_n_segments(image); i++) {
		const Elf64_Phdr *segment = image_segment_at(image, i);
		const uint8_t *found;

		if (segment->p_type != PT_NOTE)
			continue;
		found = memmem(bytes + segment->p_offset, segment->p_filesz, id->bytes, id->size);
		if (found)
			return (size_t)(found - bytes);
	}
	return 0;
}

static void range_add(struct sha256 *hash, const uint8_t *bytes, size_t from, size_t end)
{
	if (from < end)
		sha256_add(hash, bytes + from, end - from);
}

/* Section headers are no part of what is loaded, and lie behind other things from build to build. */
static void loaded_add(struct sha256 *hash, const struct image *image, size_t id_at, size_t id_size)
{
	size_t size;
	const uint8_t *bytes = image_bytes(image, &size);

	for (size_t i = 0; i < image_n_segments(image); i++) {
		const Elf64_Phdr *segment = image_segment_at(image, i);
		size_t from = MAX(segment->p_offset, sizeof(Elf64_Ehdr));
		size_t end = segment->p_offset + segment->p_filesz;

		sha256_add(hash, segment, sizeof(*segment));
		if (segment->p_type != PT_LOAD)
			continue;
		range_add(hash, bytes, from, MIN(end, MAX(from, id_at)));
		range_add(hash, bytes, MAX(from, id_at + id_size), end);
	}
}

int identity_make(const struct image *image, const struct morph_data *data, struct build_id *ret,
		  struct fault *reterr)
{
	_clean_(sha256_freep) struct sha256 *hash = sha256_new();
	const struct build_id *linked = image_build_id(image);
	size_t at = id_offset(image);
	uint8_t bytes[SHA256_BYTES];
	int r = hash ? 0 : -ENOMEM;

	_Static_assert(sizeof(bytes) == BUILD_ID_MAX_BYTES, "a hash fills the longest ID");
	if (!at)
		return fault_set(reterr, -ENODATA, "%s: the linker gave it no build ID", image_path(image));
	if (r == 0) {
		loaded_add(hash, image, at, linked->size);
		r = morph_data_hash(data, hash);
	}
	if (r == 0)
		r = sha256_end(hash, bytes);
	if (r < 0)
		return fault_errno(reterr, r, "%s: build ID", image_path(image));
	*ret = (struct build_id){ .size = linked->size };
	memcpy(ret->bytes, bytes, ret->size);
	return 0;
}

int identity_write(const char *path, const struct image *image, const struct build_id *id)
{
	_clean_(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pwrite(fd, id->bytes, id->size, (off_t)id_offset(image));

	return n == id->size ? 0 : n < 0 ? -errno : -EIO;
}
