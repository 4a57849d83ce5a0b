/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/debug_info.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
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

/* Run `opt` with @option over a module; what it writes, as text with @format "-S", as bitcode with NULL, is the caller's. */
static int opt_run(const char *tool, const struct buffer *module, const char *option, const char *format,
		   struct buffer *ret, struct fault *reterr)
{
	struct child_options options = { .retout = ret };
	char input[64];
	_clean_(fd_closep) int fd = input_make(module->data, module->size, reterr);
	int r;

	if (fd < 0)
		return fd;
	snprintf(input, sizeof(input), "/proc/self/fd/%d", fd);
	r = child_check((char *[]){ (char *)tool, "-disable-verify", (char *)option, input, "-o", "-",
				    (char *)format, NULL },
			&options, reterr);
	return r == 0 && ret->bad ? fault_errno(reterr, -ENOMEM, "module without debug information") : r;
}

/* Without the first line of IR as text, which names the file. */
static const uint8_t *text_of(const struct buffer *ir, size_t *retsize)
{
	const uint8_t *end = ir->size ? memchr(ir->data, '\n', ir->size) : NULL;

	*retsize = end ? ir->size - (size_t)(end - ir->data) : 0;
	return end;
}

/*
 * Loop strength reduction asks for the values of variables that debug information describes, finds them again later, and then
 * computes them no second time (llvm-project issue 56030, LLVM 22): do the loops become others without? Other than that, the
 * code generation is only known to see it where it adds thunks: these are described in .eh_frame if the module has any.
 */
static int loops_depend(const char *tool, const struct buffer *module, const struct buffer *stripped,
			struct fault *reterr)
{
	static const char passes[] = "-passes=function(loop-simplify,loop(canon-freeze,loop-reduce)),strip";
	_clean_(buffer_donep) struct buffer with = { 0 }, without = { 0 };
	const uint8_t *a, *b;
	size_t n, m;
	int r = opt_run(tool, module, passes, "-S", &with, reterr);

	if (r == 0)
		r = opt_run(tool, stripped, passes, "-S", &without, reterr);
	if (r < 0)
		return r;
	a = text_of(&with, &n);
	b = text_of(&without, &m);
	if (!a || !b)
		return fault_set(reterr, -EIO, "%s: wrote no module", tool);
	return n != m || memcmp(a, b, n) != 0;
}

int debug_info_strip(const void *bitcode, size_t size, struct buffer *ret, struct fault *reterr)
{
	const struct buffer module = { .data = (uint8_t *)(uintptr_t)bitcode, .size = size };
	_clean_(buffer_donep) struct buffer out = { 0 };
	char tool[PATH_MAX];
	bool has = false;
	int r = bitcode_has_debug_info(bitcode, size, &has, reterr);

	if (r == 0 && !has)
		return 1;
	if (r == 0)
		r = bitcode_has_thunks(bitcode, size, &has, reterr);
	if (r == 0 && has)
		return 1;
	if (r == 0)
		r = tool_llvm("opt", tool, sizeof(tool), reterr);
	if (r == 0)
		r = opt_run(tool, &module, "-strip-debug", NULL, &out, reterr);
	if (r == 0 && !bitcode_is(out.data, out.size))
		r = fault_set(reterr, -EIO, "%s: wrote no module", tool);
	if (r == 0)
		r = bitcode_has_described_loops(bitcode, size, &has, reterr);
	if (r == 0 && has)
		r = loops_depend(tool, &module, &out, reterr);
	if (r)
		return r;
	*ret = out;
	out = (struct buffer){ 0 };
	return 0;
}
