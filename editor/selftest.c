/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/selftest.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "sandbox/shell.h"

struct answer {
	int status; /* as waitpid(2) gives it */
	struct file_map output;
};

static void answer_done(struct answer *answer)
{
	file_map_done(&answer->output);
}

/* @run: number of the run, names its output. Return: 0; -ETIMEDOUT; other -errno. */
static int run_once(const struct selftest *test, const struct image *image, int run, struct answer *ret,
		    struct fault *reterr)
{
	char place[PATH_MAX], program[PATH_MAX], output[PATH_MAX];
	struct shell shell = { .command = test->command,
			       .program = program,
			       .directory = place,
			       .output = output,
			       .timeout_s = test->timeout_s,
			       .memory_bytes = test->memory_bytes ?: SELFTEST_MEMORY_BYTES };
	const uint8_t *bytes;
	size_t size;
	int r;

	if (snprintf(place, sizeof(place), "%s/run", test->directory) >= PATH_MAX - 64 ||
	    snprintf(program, sizeof(program), "%s/run/%s", test->directory, test->name) >= PATH_MAX)
		return fault_errno(reterr, -ENAMETOOLONG, "%s", test->directory);
	snprintf(output, sizeof(output), "%s/output-%d", test->directory, run);
	file_remove_tree(place, NULL);
	if (mkdir(place, 0700) < 0)
		return fault_errno(reterr, -errno, "%s", place);
	bytes = image_bytes(image, &size);
	r = file_write(program, bytes, size, 0700, reterr);
	if (r == 0)
		r = shell_run(&shell, &ret->status, reterr);
	return r < 0 ? r : file_map_open(output, &ret->output, reterr);
}

static bool is_same(const struct answer *a, const struct answer *b)
{
	return a->status == b->status && a->output.size == b->output.size &&
	       (!a->output.size || memcmp(a->output.data, b->output.data, a->output.size) == 0);
}

/* "exit status 1", "killed by signal 11 (Segmentation fault)" */
static const char *status_text(int status, char ret[80])
{
	if (WIFSIGNALED(status))
		snprintf(ret, 80, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(ret, 80, "exit status %d", WEXITSTATUS(status));
	return ret;
}

/* What a shell says of a command that it cannot start, or that a signal ended, is an exit status from 126. */
static int shipped_judge(const struct selftest *test, const struct answer *answer, struct fault *reterr)
{
	const uint8_t *end =
		answer->output.size ? memchr(answer->output.data, '\n', answer->output.size) : NULL;
	size_t line = end ? (size_t)(end - answer->output.data) : answer->output.size;
	char text[80];

	if (WIFEXITED(answer->status) && WEXITSTATUS(answer->status) < 126)
		return 0;
	return fault_set(reterr, -EINVAL,
			 "the packager's self-test says nothing, it fails with the shipped file already: "
			 "\"%s\", %s, %.*s",
			 test->command, status_text(answer->status, text), (int)MIN(line, (size_t)200),
			 (const char *)answer->output.data);
}

static int line_of_difference(const struct answer *a, const struct answer *b)
{
	size_t n = MIN(a->output.size, b->output.size);
	int line = 1;

	for (size_t i = 0; i < n && a->output.data[i] == b->output.data[i]; i++)
		line += a->output.data[i] == '\n';
	return line;
}

/* The two differ; whose fault is it? */
static int difference_report(const struct selftest *test, const struct image *shipped,
			     const struct answer *first, const struct answer *made, struct fault *reterr)
{
	_clean_(answer_done) struct answer again = { 0 };
	char was[80], is[80];

	if (run_once(test, shipped, 3, &again, NULL) < 0 || !is_same(first, &again))
		return fault_set(
			reterr, -EINVAL,
			"the packager's self-test says nothing, it does not do the same twice with the "
			"shipped file: \"%s\"",
			test->command);
	if (first->status != made->status)
		return fault_set(reterr, -EBADMSG, "the packager's self-test \"%s\" ends with %s, not %s",
				 test->command, status_text(made->status, is),
				 status_text(first->status, was));
	return fault_set(reterr, -EBADMSG,
			 "the packager's self-test \"%s\" prints something else, from line %d on",
			 test->command, line_of_difference(first, made));
}

int selftest_run(const struct selftest *test, const struct image *shipped, const struct image *made,
		 struct fault *reterr)
{
	_clean_(answer_done) struct answer first = { 0 }, second = { 0 };
	int r = run_once(test, shipped, 1, &first, reterr);

	if (r == -ETIMEDOUT)
		return fault_set(reterr, -EINVAL, "the packager's self-test takes longer than %u s: \"%s\"",
				 test->timeout_s, test->command);
	if (r == 0)
		r = shipped_judge(test, &first, reterr);
	if (r == 0)
		r = run_once(test, made, 2, &second, reterr);
	if (r == -ETIMEDOUT)
		return fault_set(reterr, -EBADMSG,
				 "the packager's self-test \"%s\" does not end within %u s with the new file",
				 test->command, test->timeout_s);
	if (r < 0 || is_same(&first, &second))
		return r;
	return difference_report(test, shipped, &first, &second, reterr);
}
