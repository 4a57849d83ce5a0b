/* SPDX-License-Identifier: Apache-2.0 */

#include "base/container.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#define FLAG_DEFLATED 1u

static const uint8_t magic[8] = { 0x89, 'M', 'O', 'R', 'P', 'H', '\r', '\n' };

static const char *const kind_names[CONTAINER_KIND_END] = {
	[CONTAINER_SAMPLE_LOG] = "sample log",
	[CONTAINER_PROFILE] = "profile",
	[CONTAINER_MORPH] = ".morph data",
	[CONTAINER_BLOCK_MAP] = "block map",
	[CONTAINER_MEMO] = "memo",
	[CONTAINER_CODE] = "code of a module",
};

struct header {
	unsigned kind, version;
	uint32_t flags, stored, crc;
	uint64_t raw;
};

const char *container_kind_name(unsigned kind)
{
	return kind < CONTAINER_KIND_END && kind_names[kind] ? kind_names[kind] : "unknown kind";
}

static uint32_t frame_crc(const uint8_t *header, const uint8_t *stored, size_t size)
{
	uint32_t crc = (uint32_t)crc32_z(0, header, CONTAINER_HEADER_BYTES - 4);

	return (uint32_t)crc32_z(crc, stored, size);
}

static int payload_deflate(const void *payload, size_t size, int level, struct buffer *ret)
{
	uLongf n = compressBound(size);

	ret->data = malloc(n);
	if (!ret->data)
		return -ENOMEM;
	ret->capacity = n;
	if (compress2(ret->data, &n, payload, size, level) != Z_OK)
		return -ENOMEM;
	ret->size = n;
	return 0;
}

int container_pack(enum container_kind kind, unsigned version, const void *payload, size_t size, int level,
		   struct buffer *ret)
{
	_clean_(buffer_donep) struct buffer deflated = { 0 };
	const uint8_t *stored = payload;
	size_t n_stored = size, at = ret->size;
	uint32_t flags = 0;
	int r;

	if (size > CONTAINER_MAX_BYTES || size > UINT32_MAX)
		return -EFBIG;
	if (level > 0) {
		r = payload_deflate(payload, size, level, &deflated);
		if (r < 0)
			return r;
		if (deflated.size < size) {
			stored = deflated.data;
			n_stored = deflated.size;
			flags = FLAG_DEFLATED;
		}
	}
	buffer_bytes(ret, magic, sizeof(magic));
	buffer_u16(ret, (uint16_t)kind);
	buffer_u16(ret, (uint16_t)version);
	buffer_u32(ret, flags);
	buffer_u64(ret, size);
	buffer_u32(ret, (uint32_t)n_stored);
	if (ret->bad)
		return -ENOMEM;
	buffer_u32(ret, frame_crc(ret->data + at, stored, n_stored));
	buffer_bytes(ret, stored, n_stored);
	return ret->bad ? -ENOMEM : 0;
}

static int header_read(const void *bytes, size_t size, struct header *ret, struct fault *reterr)
{
	struct reader reader = reader_of(bytes, size);
	const void *found = reader_bytes(&reader, sizeof(magic));

	if (!found || memcmp(found, magic, sizeof(magic)) != 0)
		return fault_set(reterr, -EBADMSG, "not a file written by Morph");
	ret->kind = reader_u16(&reader);
	ret->version = reader_u16(&reader);
	ret->flags = reader_u32(&reader);
	ret->raw = reader_u64(&reader);
	ret->stored = reader_u32(&reader);
	ret->crc = reader_u32(&reader);
	if (reader.bad)
		return fault_set(reterr, -EBADMSG, "truncated: the header is %u bytes, the file %zu",
				 CONTAINER_HEADER_BYTES, size);
	return 0;
}

int container_peek(const void *bytes, size_t size, unsigned *retkind, unsigned *retversion,
		   struct fault *reterr)
{
	struct header header;
	int r = header_read(bytes, size, &header, reterr);

	if (r < 0)
		return r;
	*retkind = header.kind;
	*retversion = header.version;
	return 0;
}

static int payload_read(const struct header *header, const uint8_t *stored, struct buffer *ret,
			struct fault *reterr)
{
	uLongf n = header->raw;

	/* Deflate cannot shrink by more than about 1032: a larger claim is a bomb, not a file. */
	if (header->raw > CONTAINER_MAX_BYTES ||
	    header->raw > (uint64_t)header->stored * ((header->flags & FLAG_DEFLATED) ? 1040 : 1) + 64)
		return fault_set(reterr, -EBADMSG, "damaged: impossible payload size %llu",
				 (unsigned long long)header->raw);
	ret->data = malloc(n ? n : 1);
	if (!ret->data)
		return fault_errno(reterr, -ENOMEM, "payload of %lu bytes", n);
	ret->capacity = n ? n : 1;
	if (header->flags & FLAG_DEFLATED) {
		if (uncompress(ret->data, &n, stored, header->stored) != Z_OK || n != header->raw)
			return fault_set(reterr, -EBADMSG, "damaged: the payload does not inflate");
	} else if (header->raw != header->stored) {
		return fault_set(reterr, -EBADMSG, "damaged: stored payload has two sizes");
	} else {
		memcpy(ret->data, stored, n);
	}
	ret->size = n;
	return 0;
}

static int frame_check(const void *bytes, size_t size, enum container_kind kind, unsigned version,
		       struct header *ret, struct fault *reterr)
{
	const uint8_t *stored = (const uint8_t *)bytes + CONTAINER_HEADER_BYTES;
	struct header header;
	int r = header_read(bytes, size, &header, reterr);

	if (r < 0)
		return r;
	if (header.kind != kind)
		return fault_set(reterr, -EPROTONOSUPPORT, "a %s, not a %s", container_kind_name(header.kind),
				 container_kind_name(kind));
	if (header.version != version)
		return fault_set(reterr, -EPROTONOSUPPORT,
				 "%s of format version %u; this Morph reads version %u: %s",
				 container_kind_name(kind), header.version, version,
				 header.version < version ? "make it again" : "install a newer Morph");
	if (header.stored != size - CONTAINER_HEADER_BYTES)
		return fault_set(reterr, -EBADMSG, "truncated: %u bytes of payload expected, %zu found",
				 header.stored, size - CONTAINER_HEADER_BYTES);
	if (header.crc != frame_crc(bytes, stored, header.stored))
		return fault_set(reterr, -EBADMSG, "damaged: the checksum does not match");
	if (header.flags & ~FLAG_DEFLATED)
		return fault_set(reterr, -EPROTONOSUPPORT, "unknown flags %#x", header.flags);
	*ret = header;
	return 0;
}

int container_unpack_limited(const void *bytes, size_t size, enum container_kind kind, unsigned version,
			     uint64_t max, struct buffer *ret, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer payload = { 0 };
	const uint8_t *stored = (const uint8_t *)bytes + CONTAINER_HEADER_BYTES;
	struct header header;
	int r = frame_check(bytes, size, kind, version, &header, reterr);

	if (r < 0)
		return r;
	if (header.raw > max)
		return fault_set(reterr, -EBADMSG, "damaged: a payload of %llu bytes where %llu are the most",
				 (unsigned long long)header.raw, (unsigned long long)max);
	r = payload_read(&header, stored, &payload, reterr);
	if (r < 0)
		return r;
	*ret = payload;
	payload = (struct buffer){ 0 };
	return 0;
}

int container_unpack(const void *bytes, size_t size, enum container_kind kind, unsigned version,
		     struct buffer *ret, struct fault *reterr)
{
	return container_unpack_limited(bytes, size, kind, version, CONTAINER_MAX_BYTES, ret, reterr);
}

/* Inflates until @size bytes are there or the stream ends; how many there are, or -EBADMSG. */
static ssize_t head_inflate(const uint8_t *stored, size_t n_stored, uint8_t *to, size_t size)
{
	z_stream stream = { .next_in = (Bytef *)stored,
			    .avail_in = (uInt)n_stored,
			    .next_out = to,
			    .avail_out = (uInt)size };
	int result;

	if (inflateInit(&stream) != Z_OK)
		return -ENOMEM;
	result = inflate(&stream, Z_SYNC_FLUSH);
	inflateEnd(&stream);
	if (result != Z_OK && result != Z_STREAM_END && !(result == Z_BUF_ERROR && !stream.avail_out))
		return -EBADMSG;
	return (ssize_t)(size - stream.avail_out);
}

int container_unpack_head(const void *bytes, size_t size, enum container_kind kind, unsigned version,
			  size_t max, struct buffer *ret, struct fault *reterr)
{
	const uint8_t *stored = (const uint8_t *)bytes + CONTAINER_HEADER_BYTES;
	struct header header;
	int r = frame_check(bytes, size, kind, version, &header, reterr);
	uint8_t *head;
	ssize_t n;

	if (r < 0)
		return r;
	max = (size_t)MIN((uint64_t)max, (header.flags & FLAG_DEFLATED) ? header.raw : header.stored);
	head = malloc(MAX(max, 1u));
	if (!head)
		return fault_errno(reterr, -ENOMEM, "payload of %zu bytes", max);
	if (header.flags & FLAG_DEFLATED)
		n = head_inflate(stored, header.stored, head, max);
	else
		memcpy(head, stored, (size_t)(n = (ssize_t)max));
	if (n < 0 || (size_t)n < max) {
		free(head);
		return n == -ENOMEM ? fault_errno(reterr, -ENOMEM, "payload") :
				      fault_set(reterr, -EBADMSG, "damaged: the payload does not inflate");
	}
	*ret = (struct buffer){ .data = head, .size = max, .capacity = MAX(max, 1u) };
	return 0;
}
