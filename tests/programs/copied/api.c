/* SPDX-License-Identifier: Apache-2.0 */

int outer(int n);
int api(int n);

int api(int n)
{
	unsigned sum = 0;

	for (int i = 0; i < n; i++)
		sum += (unsigned)outer((int)(sum + (unsigned)i));
	return (int)sum;
}
