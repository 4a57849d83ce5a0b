/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The first three fields of the payload (docs/format-morph.md): build ID, build ID of the origin, and the
 * version of LLVM, each with its length before it.
 */

#include "module/morph_data.h"

#include <errno.h>
#include <string.h>

#include "base/container.h"
#include "base/file.h"
#include "module/sidecar.h"

#define HEAD_BYTES 4096u

static int damaged(struct fault *reterr)
{
	return fault_set(reterr, -EBADMSG, ".morph data damaged: its first fields");
}

static bool id_read(struct reader *in, struct build_id *ret)
{
	size_t size;
	const char *bytes = reader_string(in, &size);

	if (!bytes || size > BUILD_ID_MAX_BYTES)
		return false;
	*ret = (struct build_id){ .size = (uint8_t)size };
	memcpy(ret->bytes, bytes, size);
	return true;
}

static int head_read(const void *container, size_t size, struct morph_peek *ret, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer head = { 0 };
	struct morph_peek peek = { 0 };
	const char *version;
	struct reader in;
	size_t n;
	int r = container_unpack_head(container, size, CONTAINER_MORPH, MORPH_DATA_VERSION, HEAD_BYTES, &head,
				      reterr);

	if (r < 0)
		return r;
	in = reader_of(head.data, head.size);
	if (!id_read(&in, &peek.build_id) || !id_read(&in, &peek.origin))
		return damaged(reterr);
	version = reader_string(&in, &n);
	if (!version || n == 0 || n >= sizeof(peek.llvm_version) || memchr(version, 0, n))
		return damaged(reterr);
	memcpy(peek.llvm_version, version, n);
	*ret = peek;
	return 0;
}

static int sidecar_read(const struct image *image, const char *dir, struct morph_peek *ret,
			struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = sidecar_open(image, dir, &map, reterr);

	if (r < 0)
		return r;
	r = head_read(map.data, map.size, ret, reterr);
	return r < 0 ? fault_prefix(reterr, r, "%s: sidecar", image_path(image)) : 0;
}

int morph_data_peek(const struct image *image, const char *sidecar_dir, struct morph_peek *ret,
		    struct fault *reterr)
{
	const struct image_section *section = image_section_find(image, MORPH_SECTION);
	struct morph_peek peek = { 0 };
	int r;

	if (section && section->data) {
		r = head_read(section->data, section->size, &peek, reterr);
		r = r < 0 ? fault_prefix(reterr, r, "%s", image_path(image)) : 0;
	} else {
		r = sidecar_read(image, sidecar_dir, &peek, reterr);
	}
	if (r < 0)
		return r;
	if (!build_id_is_equal(&peek.build_id, image_build_id(image)))
		return fault_set(reterr, -EBADMSG,
				 "%s: its Morph data is of another build; build it again with "
				 "morph-cc",
				 image_path(image));
	*ret = peek;
	return 0;
}
