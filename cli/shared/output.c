/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/output.h"

#include <errno.h>
#include <stdio.h>

#include "base/file.h"

int output_write(const char *path, const struct buffer *bytes, struct fault *reterr)
{
	if (path)
		return file_write(path, bytes->data, bytes->size, 0644, reterr);
	if ((!bytes->size || fwrite(bytes->data, bytes->size, 1, stdout) == 1) && fflush(stdout) == 0)
		return 0;
	fault_errno(reterr, -errno, "standard output");
	clearerr(stdout); /* it is said */
	return -EIO;
}
