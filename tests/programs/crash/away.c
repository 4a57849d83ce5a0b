/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Calls of another file's functions. The last call of a function is a jump; where that function is copied, it is a call again,
 * beside one that its caller makes of the same.
 */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct text {
	char bytes[256];
	size_t size;
};

typedef int putter(struct text *to, const char *from, size_t size);

static int plain(struct text *to, const char *from, size_t size)
{
	to->size += size;
	return strncmp(to->bytes, from, size);
}

static int quoted(struct text *to, const char *from, size_t size)
{
	to->bytes[1] = '\'';
	to->size += size + 1;
	return strncasecmp(to->bytes, from, size);
}

static putter *volatile putters[] = { plain, quoted };

__attribute__((noinline)) static int put(struct text *to, const char *from, size_t size, uint64_t kind)
{
	int order = putters[kind % 16 == 15](to, from, size);

	if (kind % 3 == 1)
		order ^= strncasecmp(to->bytes + 1, from, size);
	else if (kind % 3 == 2)
		order ^= strncmp(to->bytes + 2, from, size);
	return order + (int)to->size;
}

/* Its entry only saves registers: that has no probes. */
__attribute__((noinline)) static uint64_t several(int n, ...)
{
	uint64_t sum = 0;
	va_list ap;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(ap, uint64_t);
	va_end(ap);
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, sum = 0;
	struct text text = { .bytes = "abcd", .size = 0 };
	char words[] = "abcdefghijklmnopqrstuvwxyz0123456789";

	for (uint64_t i = 0; i < rounds; i++) {
		words[i % 26] = i % 97 ? 'a' + (char)(i % 26) : '\'';
		sum += (uint64_t)put(&text, words, 3 + i % 30, i);
		sum += several(3, i, sum, (uint64_t)text.size);
	}
	printf("%" PRIx64 "\n", sum);
	return 0;
}
