/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/check.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tests/attack.h"
#include "tests/test.h"

static uint8_t *bytes;
static size_t n_bytes;

/* This program, as somebody changes it. */
static void setup(void)
{
	struct file_map map;
	struct fault fault;

	CHECK_INT(file_map_open("/proc/self/exe", &map, &fault), 0);
	n_bytes = map.size;
	bytes = malloc(n_bytes);
	CHECK(bytes != NULL);
	memcpy(bytes, map.data, n_bytes);
	file_map_done(&map);
}

static Elf64_Phdr *segment(uint32_t type)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;
	Elf64_Phdr *segments = (Elf64_Phdr *)(bytes + header->e_phoff);

	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == type)
			return &segments[i];
	FAIL("no segment %u", type);
	return NULL;
}

static int check(void)
{
	_clean_(image_freep) struct image *shipped = NULL, *result = NULL;
	struct fault fault = { "" };

	CHECK_INT(image_open("/proc/self/exe", &shipped, &fault), 0);
	CHECK_INT(image_open_bytes(bytes, n_bytes, "result", &result, &fault), 0);
	return check_images(shipped, result, &fault);
}

TEST(a_program_is_like_itself)
{
	setup();
	CHECK_INT(check(), 0);
	free(bytes);
}

TEST(another_interpreter_is_refused)
{
	setup();
	/* The section says what it said; the kernel reads the segment. */
	segment(PT_INTERP)->p_offset += 1;
	ATTACK("check-interpreter-beside-its-section", check() == -EBADMSG);
	free(bytes);
}

TEST(other_dynamic_entries_are_refused)
{
	setup();
	segment(PT_DYNAMIC)->p_vaddr += sizeof(Elf64_Dyn);
	ATTACK("check-dynamic-entries-beside-their-section", check() == -EBADMSG);
	free(bytes);
}

TEST_MAIN()
