/* SPDX-License-Identifier: Apache-2.0 */

#include "backend/build_report.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"

static void text_add(struct buffer *line, const char *text)
{
	for (; *text; text++)
		buffer_u8(line, strchr("\t\n\r", *text) ? ' ' : (uint8_t)*text);
}

/* A report that cannot be written is no reason to end a build. */
void build_report_add(const char *kind, const char *subject, const char *text)
{
	const char *path = getenv("MORPH_REPORT");
	_clean_(buffer_donep) struct buffer line = { 0 };
	_clean_(fd_closep) int fd = -1;

	if (!path || !*path)
		return;
	text_add(&line, kind);
	buffer_u8(&line, '\t');
	text_add(&line, subject);
	buffer_u8(&line, '\t');
	text_add(&line, text);
	buffer_u8(&line, '\n');
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0 && !line.bad)
		(void)!write(fd, line.data, line.size);
}
