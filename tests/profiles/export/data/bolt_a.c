/* SPDX-License-Identifier: Apache-2.0 */

/* Built and sampled by export_test.c: a global function, and a local one of a name that is used twice. */

unsigned other(unsigned n);
static volatile unsigned sink;

static __attribute__((noinline)) unsigned work(unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 1; i < n; i++)
		sum = (sum ^ i) * 31 + n / i;
	return sum;
}

__attribute__((noinline)) unsigned shared_work(unsigned n)
{
	unsigned sum = 1;

	for (unsigned i = 1; i < n; i++)
		sum = sum & 8 ? sum * 31 + n % i : sum + i;
	return sum;
}

int main(void)
{
	for (unsigned i = 0; i < 300; i++)
		sink += work(100000 + i) + shared_work(100000 + i) + other(100000 + i);
	return 0;
}
