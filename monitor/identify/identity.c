/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/identify/identity.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/macro.h"

#define MAX_SEGMENTS 256u
#define MAX_NOTE_BYTES 65536u

/* Where the bytes come from: a descriptor, or memory. */
struct source {
	int fd; /* -1: memory */
	const uint8_t *bytes;
	size_t size;
};

static bool source_read(const struct source *source, uint64_t offset, void *ret, size_t size)
{
	if (source->fd >= 0)
		return offset <= INT64_MAX && pread(source->fd, ret, size, (off_t)offset) == (ssize_t)size;
	if (offset > source->size || size > source->size - offset)
		return false;
	memcpy(ret, source->bytes + offset, size);
	return true;
}

static bool is_elf64(const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == ELFDATA2LSB && header->e_phentsize == sizeof(Elf64_Phdr) &&
	       header->e_phnum <= MAX_SEGMENTS;
}

static bool segment_build_id(const struct source *source, const Elf64_Phdr *segment, struct build_id *ret)
{
	_clean_(freep) void *notes = NULL;

	if (segment->p_type != PT_NOTE || segment->p_filesz > MAX_NOTE_BYTES || !segment->p_filesz)
		return false;
	notes = malloc(segment->p_filesz);
	return notes && source_read(source, segment->p_offset, notes, segment->p_filesz) &&
	       build_id_find_note(notes, segment->p_filesz, ret);
}

static struct build_id source_build_id(const struct source *source)
{
	struct build_id id = { 0 };
	Elf64_Ehdr header;

	if (!source_read(source, 0, &header, sizeof(header)) || !is_elf64(&header))
		return id;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;

		if (!source_read(source, header.e_phoff + i * sizeof(segment), &segment, sizeof(segment)) ||
		    segment_build_id(source, &segment, &id))
			break;
	}
	/* A few bytes identify nothing: anybody's file may have them by chance. */
	return id.size < IDENTITY_MIN_BUILD_ID ? (struct build_id){ 0 } : id;
}

int identity_of_fd(int fd, struct identity *ret)
{
	struct source source = { .fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret = (struct identity){
		.build_id = source_build_id(&source),
		.size = (uint64_t)st.st_size,
		.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec,
		.inode = st.st_ino,
	};
	return 0;
}

struct build_id identity_of_bytes(const void *image, size_t size)
{
	struct source source = { .fd = -1, .bytes = image, .size = size };

	return source_build_id(&source);
}
