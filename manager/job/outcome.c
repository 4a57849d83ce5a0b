/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/job/outcome.h"

#include <stdio.h>
#include <sys/wait.h>

#include "manager/job/command.h"
#include "manager/keep/path.h"

const char *outcome_failure(const struct job_end *end, const char *place, const char *silent, char *text,
			    size_t size)
{
	char log[PATH_MAX], line[512];

	command_last_line(path_join(place, "log", log), line, sizeof(line));
	if (end->timed_out)
		snprintf(text, size, "it took too long and was stopped");
	else if (end->error)
		snprintf(text, size, "%s", end->text);
	else if (!WIFEXITED(end->status) || WEXITSTATUS(end->status))
		snprintf(text, size, "%s", line[0] ? line : silent);
	else if (end->outputs[0] != JOB_OUTPUT_WRITTEN)
		snprintf(text, size, "the command wrote no file of a plausible size");
	else
		return NULL;
	return text;
}
