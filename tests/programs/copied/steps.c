/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A library's internal function that both files know of, because outer() may be imported, and that is gone once it is copied into
 * outer(): setjmp() keeps outer() itself from being copied. seldom() does not run, so the file's code as shipped stays in the link.
 */

#include <setjmp.h>
#include <stdio.h>

int step(int x, const char *text);
int outer(int n);
int seldom(int n);

int step(int x, const char *text)
{
	if (x == -12345)
		printf("%s %d\n", text, x);
	if (x == -12346)
		printf("%s! %d\n", text, x);
	if (x == -12347)
		printf("%s!! %d\n", text, x);
	if (x == -12348)
		printf("%s!!! %d\n", text, x), puts(text), putchar(x), fputs(text, stderr);
	return x * 31 ^ (x >> 3);
}

int outer(int n)
{
	jmp_buf back;

	if (setjmp(back))
		return 0;
	return step(n, "a") ^ step(-n, "b");
}

int seldom(int n)
{
	return n < 0 ? puts("less"), 1 : n * 3;
}
