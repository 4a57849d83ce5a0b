/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/self.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

int self_find(char *ret, struct fault *reterr)
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);

	if (n < 0)
		return fault_errno(reterr, -errno, "/proc/self/exe");
	ret[n] = '\0';
	return 0;
}
