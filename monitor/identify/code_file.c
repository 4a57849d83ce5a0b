/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/identify/code_file.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "arch/interrupted.h"
#include "monitor/identify/identity.h"

#define MAX_SEGMENTS 256u
#define PAGE_BYTES 4096u
#define N_PAGES 64u /* kept, by the lowest bits of their numbers */

struct page {
	uint64_t number; /* in the file */
	size_t n;	 /* bytes; 0: nothing is kept here */
	uint8_t *bytes;	 /* owned */
};

struct code_file {
	int fd;
	Elf64_Phdr segments[MAX_SEGMENTS]; /* PT_LOAD */
	unsigned n_segments;
	struct page pages[N_PAGES];
};

static bool segments_read(struct code_file *file)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (pread(file->fd, &header, sizeof(header), 0) != sizeof(header) || INTERRUPTED_MACHINE == EM_NONE ||
	    header.e_machine != INTERRUPTED_MACHINE || header.e_phentsize != sizeof(segment) ||
	    header.e_phoff > INT64_MAX / 2)
		return false;
	for (unsigned i = 0; i < header.e_phnum && file->n_segments < MAX_SEGMENTS; i++) {
		if (pread(file->fd, &segment, sizeof(segment),
			  (off_t)(header.e_phoff + i * sizeof(segment))) != sizeof(segment))
			return false;
		if (segment.p_type == PT_LOAD && segment.p_offset < INT64_MAX / 2 &&
		    segment.p_filesz < INT64_MAX / 2)
			file->segments[file->n_segments++] = segment;
	}
	return file->n_segments;
}

static bool is_file(int fd, const struct file_identity *file, const struct build_id *build_id)
{
	struct file_identity found;
	struct identity identity;

	if (file_identity_is_known(file))
		return file_identity_of_fd(fd, &found) == 0 && file_identity_is_equal(&found, file);
	return build_id->size && identity_of_fd(fd, &identity) == 0 &&
	       build_id_is_equal(&identity.build_id, build_id);
}

struct code_file *code_file_open(const char *path, const struct file_identity *file_id,
				 const struct build_id *build_id)
{
	_clean_(code_file_freep) struct code_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file->fd < 0 || !is_file(file->fd, file_id, build_id) || !segments_read(file))
		return NULL;
	return TAKE(file);
}

void code_file_free(struct code_file *file)
{
	if (!file)
		return;
	for (unsigned i = 0; i < N_PAGES; i++)
		free(file->pages[i].bytes);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

/* From offsets in the file to addresses, or back, within the segment of code that holds @at. */
static bool translate(const struct code_file *file, bool to_address, uint64_t at, uint64_t *ret)
{
	for (unsigned i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *s = &file->segments[i];
		uint64_t from = to_address ? s->p_offset : s->p_vaddr;
		uint64_t to = to_address ? s->p_vaddr : s->p_offset;

		if (s->p_flags & PF_X && at - from < s->p_filesz) {
			*ret = at - from + to;
			return true;
		}
	}
	return false;
}

bool code_file_address(const struct code_file *file, uint64_t offset, uint64_t *ret)
{
	return translate(file, true, offset, ret);
}

bool code_file_offset(const struct code_file *file, uint64_t address, uint64_t *ret)
{
	return translate(file, false, address, ret);
}

static const struct page *page_read(struct code_file *file, uint64_t number)
{
	struct page *page = &file->pages[number % N_PAGES];
	ssize_t n;

	if (page->n && page->number == number)
		return page;
	if (!page->bytes)
		page->bytes = malloc(PAGE_BYTES);
	n = page->bytes ? pread(file->fd, page->bytes, PAGE_BYTES, (off_t)(number * PAGE_BYTES)) : -1;
	page->number = number;
	page->n = n > 0 ? (size_t)n : 0;
	return page;
}

static bool is_part(const Elf64_Phdr *segment, enum code_file_part part)
{
	return part == CODE_FILE_CODE ? segment->p_flags & PF_X : (segment->p_flags & (PF_R | PF_W)) == PF_R;
}

size_t code_file_read(struct code_file *file, enum code_file_part part, uint64_t address, void *ret,
		      size_t size)
{
	size_t done = 0;

	for (unsigned i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *s = &file->segments[i];
		uint64_t at = address - s->p_vaddr;

		if (!is_part(s, part) || at >= s->p_filesz)
			continue;
		size = (size_t)MIN(size, s->p_filesz - at);
		while (done < size) {
			uint64_t offset = s->p_offset + at + done, in_page = offset % PAGE_BYTES;
			const struct page *page = page_read(file, offset / PAGE_BYTES);
			size_t n = page->n > in_page ? MIN(page->n - in_page, size - done) : 0;

			if (!n)
				break;
			memcpy((uint8_t *)ret + done, page->bytes + in_page, n);
			done += n;
		}
		break;
	}
	return done;
}
