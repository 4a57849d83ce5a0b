/* SPDX-License-Identifier: Apache-2.0 */

#include "module/build_id.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"

#define NOTE_ALIGNMENT 4u

bool build_id_is_equal(const struct build_id *a, const struct build_id *b)
{
	return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

int build_id_compare(const struct build_id *a, const struct build_id *b)
{
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return memcmp(a->bytes, b->bytes, a->size);
}

const char *build_id_text(const struct build_id *id, char ret[BUILD_ID_MAX_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	char *p = ret;

	for (unsigned i = 0; i < id->size; i++) {
		*p++ = digits[id->bytes[i] >> 4];
		*p++ = digits[id->bytes[i] & 15];
	}
	*p = '\0';
	return ret;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int build_id_parse(const char *text, struct build_id *ret)
{
	size_t n = strlen(text);
	struct build_id id = { 0 };

	if (n < 2 * BUILD_ID_MIN_BYTES || n > 2 * BUILD_ID_MAX_BYTES || n % 2)
		return -EINVAL;
	for (size_t i = 0; i < n; i += 2) {
		int high = digit(text[i]), low = digit(text[i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		id.bytes[id.size++] = (uint8_t)(high << 4 | low);
	}
	*ret = id;
	return 0;
}

static uint64_t align_up(uint64_t value)
{
	return (value + NOTE_ALIGNMENT - 1) & ~(uint64_t)(NOTE_ALIGNMENT - 1);
}

bool build_id_find_note(const void *notes, size_t size, struct build_id *ret)
{
	struct reader reader = reader_of(notes, size);

	while (reader_left(&reader) >= sizeof(Elf64_Nhdr)) {
		uint32_t n_name = reader_u32(&reader), n_desc = reader_u32(&reader);
		uint32_t type = reader_u32(&reader);
		const char *name = reader_bytes(&reader, align_up(n_name));
		/* The last descriptor of a section need not be padded. */
		uint64_t padded = MIN(align_up(n_desc), (uint64_t)reader_left(&reader));
		const uint8_t *desc = reader_bytes(&reader, MAX(padded, (uint64_t)n_desc));

		if (!name || !desc)
			return false;
		if (type == NT_GNU_BUILD_ID && n_name == sizeof(ELF_NOTE_GNU) &&
		    memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 && n_desc >= BUILD_ID_MIN_BYTES &&
		    n_desc <= BUILD_ID_MAX_BYTES) {
			*ret = (struct build_id){ .size = (uint8_t)n_desc };
			memcpy(ret->bytes, desc, n_desc);
			return true;
		}
	}
	return false;
}
