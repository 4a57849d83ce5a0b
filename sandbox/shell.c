/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "sandbox/shell.h"

#include <limits.h>
#include <stdio.h>

#include "base/child.h"

int shell_run(const struct shell *shell, int *retstatus, struct fault *reterr)
{
	char home[PATH_MAX + 8], temporary[PATH_MAX + 8], program[PATH_MAX + 16], memory[32];
	char *const environment[] = {
		(char[]){ "PATH=/usr/bin:/bin" }, (char[]){ "LC_ALL=C" }, home, temporary, program, NULL
	};
	char *const argv[] = { (char[]){ "/bin/sh" },
			       (char[]){ "-c" },
			       (char[]){ "ulimit -v \"$3\"; exec </dev/null; [ -z \"$2\" ] || exec >\"$2\" "
					 "2>&1; eval \"$1\"" },
			       (char[]){ "sh" },
			       (char *)shell->command,
			       (char *)(shell->output ? shell->output : ""),
			       memory,
			       NULL };
	struct child_options options = { .directory = shell->directory,
					 .environment = environment,
					 .timeout_s = shell->timeout_s };

	snprintf(home, sizeof(home), "HOME=%s", shell->directory);
	snprintf(temporary, sizeof(temporary), "TMPDIR=%s", shell->directory);
	snprintf(program, sizeof(program), "PROGRAM=%s", shell->program);
	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)shell->memory_bytes >> 10);
	return child_run(argv, &options, retstatus, reterr);
}
