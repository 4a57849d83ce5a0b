/* SPDX-License-Identifier: Apache-2.0 */

/* The note: name "Morph", type 2, SHA-256 of the sidecar. */

#include "module/sidecar.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "module/image_edit.h"

#define NOTE_TYPE 2u
#define NOTE_NAME "Morph\0\0" /* padded to 8 bytes */
#define NOTE_NAME_BYTES 8u

int sidecar_path(const struct build_id *id, const char *dir, char *ret, size_t size)
{
	char text[BUILD_ID_MAX_TEXT];
	int n;

	if (id->size < BUILD_ID_MIN_BYTES)
		return -ENODATA;
	build_id_text(id, text);
	n = snprintf(ret, size, "%s/%.2s/%s.morph", dir ? dir : SIDECAR_DIR, text, text + 2);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

#define NOTE_HASH_AT (12u + NOTE_NAME_BYTES)

int sidecar_locate(const struct build_id *id, const char *dir, char *ret, size_t size)
{
	char fetched[PATH_MAX];
	int r = sidecar_path(id, dir, ret, size);

	if (r < 0 || access(ret, F_OK) == 0)
		return r;
	if (dir || sidecar_path(id, SIDECAR_FETCHED_DIR, fetched, sizeof(fetched)) < 0 ||
	    access(fetched, F_OK) != 0)
		return -ENOENT;
	return snprintf(ret, size, "%s", fetched) < (int)size ? 0 : -ENAMETOOLONG;
}

static int note_make(const void *bytes, size_t size, struct buffer *ret)
{
	uint8_t hash[SHA256_BYTES];
	int r = sha256_of(bytes, size, hash);

	buffer_u32(ret, sizeof("Morph"));
	buffer_u32(ret, sizeof(hash));
	buffer_u32(ret, NOTE_TYPE);
	buffer_bytes(ret, NOTE_NAME, NOTE_NAME_BYTES);
	buffer_bytes(ret, hash, sizeof(hash));
	return r < 0 || ret->bad ? -ENOMEM : 0;
}

int sidecar_split(const struct image *image, const void *bytes, size_t size, struct buffer *ret,
		  struct fault *reterr)
{
	static const char *const dropped[] = { ".morph", SIDECAR_NOTE_SECTION, NULL };
	_clean_(buffer_donep) struct buffer note = { 0 };

	if (note_make(bytes, size, &note) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", image_path(image));
	return image_edit(image, dropped,
			  &(struct image_new_section){ SIDECAR_NOTE_SECTION, SHT_NOTE, note.data, note.size },
			  1, ret, reterr);
}

int sidecar_check(const struct image *image, const void *bytes, size_t size, const char *path,
		  struct fault *reterr)
{
	const struct image_section *section = image_section_find(image, SIDECAR_NOTE_SECTION);
	_clean_(buffer_donep) struct buffer note = { 0 };

	if (note_make(bytes, size, &note) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", path);
	if (!section || !section->data)
		return fault_set(reterr, -EBADMSG,
				 "%s: is not taken, for %s names no sidecar; split it with `morph split`",
				 path, image_path(image));
	if (section->size != note.size || memcmp(section->data, note.data, note.size) != 0)
		return fault_set(
			reterr, -EBADMSG,
			"%s: is not the sidecar that %s was split from; install the one that came with it",
			path, image_path(image));
	return 0;
}

int sidecar_named(const struct image *image, uint8_t ret[SHA256_BYTES])
{
	const struct image_section *section = image_section_find(image, SIDECAR_NOTE_SECTION);

	if (!section || !section->data || section->size != NOTE_HASH_AT + SHA256_BYTES)
		return -ENODATA;
	memcpy(ret, section->data + NOTE_HASH_AT, SHA256_BYTES);
	return 0;
}

/* Why there is none: is one missing that should be there? */
static int nothing_found(const struct image *image, const char *path, struct fault *reterr)
{
	uint8_t hash[SHA256_BYTES];

	if (sidecar_named(image, hash) < 0 || image_build_id(image)->size < BUILD_ID_MIN_BYTES)
		return fault_set(reterr, -ENODATA, "%s: carries no Morph data; build it with morph-cc",
				 image_path(image));
	return fault_set(reterr, -ENOENT,
			 "%s: its Morph data is a sidecar that is not installed (%s); install the package "
			 "that has it, or get it with morph fetch",
			 image_path(image), path);
}

int sidecar_open(const struct image *image, const char *dir, struct file_map *ret, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	char path[PATH_MAX] = "";
	int r = sidecar_locate(image_build_id(image), dir, path, sizeof(path));

	if (r == 0)
		r = file_map_open(path, &map, reterr);
	if (r == -ENOENT || r == -ENOTDIR || r == -ENODATA)
		return nothing_found(image, path, reterr);
	if (r == -ENAMETOOLONG)
		return fault_errno(reterr, r, "%s", dir);
	if (r == 0)
		r = sidecar_check(image, map.data, map.size, path, reterr);
	if (r < 0)
		return r;
	*ret = map;
	map = (struct file_map){ 0 };
	return 0;
}
