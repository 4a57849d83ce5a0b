/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "debug/crash_line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* A hexadecimal number at @s, "0x" or not; @retend: behind it. False: none, or more than 64 bits. */
static bool hex_at(const char *s, const char **retend, uint64_t *ret)
{
	uint64_t v = 0;
	unsigned n = 0;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	while (*s == '0' && isxdigit((unsigned char)s[1]))
		s++;
	for (; isxdigit((unsigned char)*s); s++, n++)
		v = v << 4 | (uint64_t)(isdigit((unsigned char)*s) ? *s - '0' : (*s | 0x20) - 'a' + 10);
	*retend = s;
	*ret = v;
	return n && n <= 16;
}

static bool number_alone(const char *text, uint64_t *ret)
{
	const char *end;

	while (isspace((unsigned char)*text))
		text++;
	if (!hex_at(text, &end, ret))
		return false;
	while (isspace((unsigned char)*end))
		end++;
	return !*end;
}

/* Does the word of @n bytes name the file: its path or its last component? */
static bool is_file(const char *word, size_t n, const char *name)
{
	const char *slash = memrchr(word, '/', n);

	if (slash) {
		n -= (size_t)(slash + 1 - word);
		word = slash + 1;
	}
	return n == strlen(name) && memcmp(word, name, n) == 0;
}

static uint64_t lowest_address(const struct image *image)
{
	uint64_t low = UINT64_MAX;

	for (size_t i = 0; i < image_n_segments(image); i++)
		if (image_segment_at(image, i)->p_type == PT_LOAD &&
		    image_segment_at(image, i)->p_vaddr < low)
			low = image_segment_at(image, i)->p_vaddr;
	return low == UINT64_MAX ? 0 : low & ~4095ull;
}

static bool symbol_address(const struct image *image, const char *word, size_t n, uint64_t *ret)
{
	for (size_t i = 0; i < image_n_symbols(image); i++) {
		const struct image_symbol *s = image_symbol_at(image, i);

		if (strncmp(s->name, word, n) == 0 && !s->name[n]) {
			*ret = s->address;
			return true;
		}
	}
	return false;
}

static bool is_word(char c)
{
	return c && !isspace((unsigned char)c) && c != '(' && c != '[' && c != '<';
}

/* WORD+0xOFFSET or WORD + 0xOFFSET, where the sign stands at @plus. */
static bool sum_find(const char *text, const char *plus, const char *name, const struct image *image,
		     uint64_t *ret)
{
	bool spaced = plus > text && plus[-1] == ' ' && plus[1] == ' ';
	const char *end, *word_end = plus - spaced, *word = word_end;
	uint64_t offset, start = 0;
	size_t n;

	if (plus[1 + spaced] != '0' || plus[2 + spaced] != 'x' || !hex_at(plus + 1 + spaced, &end, &offset))
		return false;
	while (word > text && is_word(word[-1]))
		word--;
	n = (size_t)(word_end - word);
	if (n && is_file(word, n, name)) /* systemd counts from where the file begins in memory */
		start = spaced ? lowest_address(image) : 0;
	else if (n ? !symbol_address(image, word, n, &start) : word == text || word[-1] != '(' || spaced)
		return false;
	else if (!n) { /* backtrace_symbols(3): FILE(+0xOFFSET) */
		const char *file_end = word - 1;

		for (word = file_end; word > text && is_word(word[-1]);)
			word--;
		if (!is_file(word, (size_t)(file_end - word), name))
			return false;
	}
	*ret = start + offset;
	return true;
}

/* The kernel's line: "ip IP ... in NAME[START+SIZE]", since Linux 6.3 "[OFFSET,START+SIZE]" */
static bool fault_find(const char *text, const char *name, const struct image *image, uint64_t *ret)
{
	const char *at = strstr(text, " ip "), *in = at ? strstr(at, " in ") : NULL;
	const char *bracket = in ? strchr(in, '[') : NULL, *end;
	uint64_t ip, start, size, offset;

	if (!bracket || !is_file(in + 4, (size_t)(bracket - in - 4), name) || !hex_at(at + 4, &end, &ip) ||
	    !hex_at(bracket + 1, &end, &start))
		return false;
	if (*end == ',') /* in the file, not in memory */
		return image_offset_to_address(image, start, ret);
	if (*end != '+' || !hex_at(end + 1, &end, &size) || ip - start >= size)
		return false;
	offset = ip - start;
	for (size_t i = 0; i < image_n_segments(image); i++) {
		const Elf64_Phdr *p = image_segment_at(image, i);
		uint64_t low = p->p_vaddr & ~4095ull;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && low + offset >= p->p_vaddr &&
		    low + offset - p->p_vaddr < p->p_memsz) {
			*ret = low + offset;
			return true;
		}
	}
	return false;
}

/* "#1  ...": the frames above the innermost. */
static bool is_outer_frame(const char *text)
{
	text += strspn(text, " \t");
	return text[0] == '#' && isdigit((unsigned char)text[1]) && strtoul(text + 1, NULL, 10) > 0;
}

bool crash_line_find(const char *text, const char *name, const struct image *image, uint64_t base,
		     struct crash_line *ret)
{
	uint64_t address;
	bool found = number_alone(text, &address);

	if (found)
		address -= base;
	else
		found = fault_find(text, name, image, &address);
	for (const char *plus = strchr(text, '+'); plus && !found; plus = strchr(plus + 1, '+'))
		found = sum_find(text, plus, name, image, &address);
	if (found)
		*ret = (struct crash_line){ address, is_outer_frame(text) };
	return found;
}
