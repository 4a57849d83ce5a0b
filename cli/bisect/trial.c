/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/bisect/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

/* The command with @file for {}; NULL: no memory. @retnamed: there was one */
static char **command_with(char **command, const char *file, bool *retnamed)
{
	size_t n = 0;
	char **ret;

	while (command[n])
		n++;
	ret = calloc(n + 1, sizeof(*ret));
	*retnamed = false;
	for (size_t i = 0; ret && i < n; i++) {
		bool is_file = strcmp(command[i], "{}") == 0;

		ret[i] = is_file ? (char *)file : command[i];
		*retnamed |= is_file;
	}
	return ret;
}

/* Is what it wrote what the first run wrote? */
static int output_compare(struct trial *t, int out, struct trial_run *run, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	uint8_t sha256[SHA256_BYTES];
	char text[SHA256_TEXT];
	int r = file_map_fd(out, "the command's output", &map, reterr);

	if (r == 0 && sha256_of(map.data, map.size, sha256) < 0)
		r = fault_errno(reterr, -ENOMEM, "the command's output");
	if (r < 0 || run->failed || run->skipped)
		return r;
	sha256_text(sha256, text);
	if (!t->expected[0])
		memcpy(t->expected, text, sizeof(text));
	run->failed = strcmp(t->expected, text) != 0;
	if (run->failed)
		snprintf(run->how, sizeof(run->how), "other output (%zu bytes)", map.size);
	return 0;
}

int trial_run(struct trial *t, const char *file, struct trial_run *ret, struct fault *reterr)
{
	_clean_(fd_closep) int out = t->compares ? memfd_create("output", MFD_CLOEXEC) : -1;
	_clean_(fd_closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	_clean_(freep) char **command = NULL;
	struct run_options options = { .directory = NULL,
				       .file = file,
				       .cpu = -1,
				       .timeout_s = t->timeout_s,
				       .input = -1,
				       .interrupted = t->interrupted };
	struct run_result result = { 0 };
	bool is_named;
	int r;

	*ret = (struct trial_run){ 0 };
	command = command_with(t->command, file, &is_named);
	if (!command || null < 0 || (t->compares && out < 0))
		return fault_errno(reterr, command ? -errno : -ENOMEM, "running the command");
	options.command = command;
	options.program = is_named ? NULL : t->path;
	options.output = t->compares ? out :
			 t->quiet    ? null :
				       STDERR_FILENO; /* standard output is the verb's own */
	options.errors = t->quiet ? null : -1;
	r = run_measured(&options, &result, reterr);
	if (r < 0)
		return r;
	ret->skipped =
		!result.timed_out && WIFEXITED(result.status) && WEXITSTATUS(result.status) == TRIAL_SKIP;
	ret->failed = !ret->skipped && (result.timed_out || result.status != 0);
	ret->cpu_s = run_cpu_s(&result);
	ret->wall_s = result.wall_s;
	if (ret->failed || ret->skipped)
		run_end(&result, ret->how);
	return t->compares ? output_compare(t, out, ret, reterr) : 0;
}
