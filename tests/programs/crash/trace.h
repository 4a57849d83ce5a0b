/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One line on standard error: where the frames return to, as addresses of the file, innermost first. */

#include <execinfo.h>
#include <inttypes.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C"
#else
extern
#endif
	const char __executable_start;

__attribute__((noinline)) static void trace(void)
{
	void *frames[128];
	int n = backtrace(frames, 128);

	for (int i = 1; i < n; i++)
		fprintf(stderr, "%" PRIx64 " ", (uint64_t)frames[i] - (uint64_t)&__executable_start);
	fputc('\n', stderr);
}
