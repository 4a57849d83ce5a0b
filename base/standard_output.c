/* SPDX-License-Identifier: Apache-2.0 */

#include "base/standard_output.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool reader_is_gone(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

/* The error of a write long ago is not kept: devices say it again when nothing is written. */
static int error_of_before(void)
{
	if (reader_is_gone())
		return EPIPE;
	return write(STDOUT_FILENO, "", 0) < 0 ? errno : 0;
}

int standard_output_end(const char *program, int status)
{
	bool failed_before = ferror(stdout);
	int error = fflush(stdout) != 0 ? errno : failed_before ? error_of_before() : 0;

	if (error == EPIPE || (!error && !failed_before))
		return status;
	fprintf(stderr, "%s: standard output: %s\n", program,
		error ? strerror(error) : "not all of it could be written");
	return status ? status : 1;
}
