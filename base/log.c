/* SPDX-License-Identifier: Apache-2.0 */

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

static const char *log_program = "morph";
static enum log_level log_max = LOG_LEVEL_INFO;
static bool log_to_journal;

void log_init(const char *program, enum log_level max)
{
	log_program = program;
	log_max = max;
	log_to_journal = getenv("JOURNAL_STREAM") != NULL;
}

void log_message(enum log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (level > log_max)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	text_clean(line, sizeof(line));
	if (log_to_journal)
		fprintf(stderr, "<%d>%s\n", (int)level, line);
	else
		fprintf(stderr, "%s: %s%s\n", log_program, level == LOG_LEVEL_WARNING ? "warning: " : "",
			line);
}
