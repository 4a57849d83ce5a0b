/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/debug_info.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/tools.h"
#include "base/child.h"
#include "module/bitcode.h"

static int input_make(const void *bytes, size_t size, struct fault *reterr)
{
	int fd = memfd_create("module", 0); /* inherited: the child opens it by our descriptor's number */
	size_t at = 0;

	while (fd >= 0 && at < size) {
		ssize_t n = write(fd, (const char *)bytes + at, size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			close(fd);
			break;
		}
		at += (size_t)n;
	}
	return fd >= 0 && at == size ? fd : fault_errno(reterr, -errno, "module without debug information");
}

int debug_info_strip(const void *bitcode, size_t size, struct buffer *ret, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer out = { 0 };
	struct child_options options = { .retout = &out };
	char tool[PATH_MAX], input[64];
	_clean_(fd_closep) int fd = -1;
	bool has = false;
	int r = bitcode_has_debug_info(bitcode, size, &has, reterr);

	if (r == 0 && !has)
		return 1;
	if (r == 0)
		r = tool_llvm("opt", tool, sizeof(tool), reterr);
	if (r < 0)
		return r;
	fd = input_make(bitcode, size, reterr);
	if (fd < 0)
		return fd;
	snprintf(input, sizeof(input), "/proc/self/fd/%d", fd);
	r = child_check((char *[]){ tool, "-strip-debug", input, "-o", "-", NULL }, &options, reterr);
	if (r == 0 && (out.bad || !bitcode_is(out.data, out.size)))
		r = fault_set(reterr, -EIO, "%s: wrote no module", tool);
	if (r < 0)
		return r;
	*ret = out;
	out = (struct buffer){ 0 };
	return 0;
}
