/* SPDX-License-Identifier: Apache-2.0 */

unsigned other(unsigned n);

static __attribute__((noinline)) unsigned work(unsigned n)
{
	unsigned sum = 3;

	for (unsigned i = 1; i < n; i++)
		sum += (sum + n) / i;
	return sum;
}

unsigned other(unsigned n)
{
	return work(n) + 1;
}
